package campaign

import (
	"runtime"
	"time"
)

// Options are how a campaign is run. With a budget of runs, the findings depend on RunTimeout and MemoryMax,
// which say what is out of bounds, and on FindingsMax, which bounds the examinations. They do not depend on
// the other options.
type Options struct {
	Workers   int            // how many processes run at once; 0 is one for each processor
	Command   []string       // the command of a worker process, which calls [Serve] on its standard input and output
	Progress  func(Progress) // called about five times a second; nil is not called
	Elsewhere Elsewhere      // makes the runs on other machines; nil makes them here
	Record    func(*Record)  // called with every record in the order of runs, those of an earlier process included; nil is not called

	RunTimeout  time.Duration // real time without a step after which a run counts as hung; a run that takes 15 times as long in all does, too; 0 is 20 s
	MemoryMax   int64         // bytes of heap beyond which a run counts as overgrown; 0 is 1 GiB
	FindingsMax int           // further findings are counted, not examined; 0 is 20
}

// Defaults of the [Options] of the same names.
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

// Progress is how far a campaign has come.
type Progress struct {
	Runs      int           // done so far
	RunsAll   int           // 0: as many as the time allows
	Elapsed   time.Duration // real time, including that before a resumption
	Budget    time.Duration // 0 is no limit
	Steps     int
	Virtual   time.Duration
	Findings  int
	Examining string // the invariant whose violation is examined; empty if there is none
}
