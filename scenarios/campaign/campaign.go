package campaign

import (
	"context"
	"runtime"
	"time"
)

// Options are how a campaign is run. Within a budget of runs, what it finds does not depend on Workers,
// Command, Progress and Record. It does on the last three: RunTimeout and MemoryMax say what counts as
// out of bounds, and FindingsMax how much of what was found is examined.
type Options struct {
	Workers  int            // processes at once; 0 is one for each processor
	Command  []string       // starts a worker process, which calls [Serve] on its standard input and output
	Progress func(Progress) // called about five times a second; nil is none
	Record   func(*Record)  // is given every record, in the order of runs, those of an earlier process included; nil is nobody

	RunTimeout  time.Duration // real time without a step after which a run counts as hung; one that goes on for 15 times as long, too; 0 is 20 s
	MemoryMax   int64         // bytes of heap past which a run counts as overgrown; 0 is 1 GiB
	FindingsMax int           // findings beyond it are counted, not examined; 0 is 20
}

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
		o.RunTimeout = 20 * time.Second
	}
	if o.MemoryMax <= 0 {
		o.MemoryMax = 1 << 30
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

// Run runs the campaign in dir from where it stands, and writes its findings and result.json. When
// ctx is cancelled it stops as soon as the runs under way are over, or 30 s later without them, and
// returns what there is, with Complete false, and no error; the journal lets a later Run go on. Of a
// campaign that is over it returns the result that is there.
func Run(ctx context.Context, dir string, opt Options) (*Result, error) {
	s, err := newSupervisor(ctx, dir, opt.withDefaults())
	if err != nil {
		return nil, err
	}
	defer s.close()
	if s.finished != nil {
		return s.finished, nil
	}
	return s.run(ctx)
}
