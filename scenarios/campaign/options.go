package campaign

import (
	"runtime"
	"time"
)

// Options are how a campaign is run. Within a budget of runs, what it finds depends on RunTimeout and
// MemoryMax, which say what counts as out of bounds, and on FindingsMax, which says how much of what was
// found is examined. It does not depend on the others.
type Options struct {
	Workers   int            // processes at once; 0 is one for each processor
	Command   []string       // starts a worker process, which calls [Serve] on its standard input and output
	Progress  func(Progress) // called about five times a second; nil is none
	Elsewhere Elsewhere      // does the runs on other machines; nil does them here
	Record    func(*Record)  // is given every record, in the order of runs, those of an earlier process included; nil is nobody

	RunTimeout  time.Duration // real time without a step after which a run counts as hung; one that goes on for 15 times as long, too; 0 is 20 s
	MemoryMax   int64         // bytes of heap past which a run counts as overgrown; 0 is 1 GiB
	FindingsMax int           // findings beyond it are counted, not examined; 0 is 20
}

// What [Options] of those names are if they are 0.
const (
	RunTimeout = 20 * time.Second
	MemoryMax  = 1 << 30
)

func (o Options) withDefaults() Options {
	if o.Workers <= 0 {
		o.Workers = runtime.NumCPU()
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Record == nil {
		o.Record = func(*Record) {}
	}
	if o.RunTimeout <= 0 {
		o.RunTimeout = RunTimeout
	}
	if o.MemoryMax <= 0 {
		o.MemoryMax = MemoryMax
	}
	if o.FindingsMax <= 0 {
		o.FindingsMax = 20
	}
	return o
}

// runTimeouts is how many times Options.RunTimeout a whole run may take.
const runTimeouts = 15

// Progress of a campaign that is under way.
type Progress struct {
	Runs      int           // done
	RunsAll   int           // 0: as many as the time allows
	Elapsed   time.Duration // real time, that before a resumption included
	Budget    time.Duration // 0 is no limit
	Steps     int
	Virtual   time.Duration
	Findings  int
	Examining string // the invariant whose violation is being shrunk; empty if none is
}
