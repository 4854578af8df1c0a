package campaign

import (
	"context"
	"errors"
	"time"
)

// Options are how a campaign is run. None of them changes what it finds within a budget of runs.
type Options struct {
	Workers  int            // processes at once; 0 is one for each processor
	Command  []string       // starts a worker process, which calls [Serve] on its standard input and output
	Progress func(Progress) // called about five times a second; nil is none
	Record   func(*Record)  // is given every record, in the order of runs, those of an earlier process included; nil is nobody

	RunTimeout  time.Duration // real time without a step after which a run counts as hung; 0 is 20 s
	MemoryMax   int64         // bytes of heap past which a run counts as overgrown; 0 is 1 GiB
	FindingsMax int           // findings beyond it are counted, not examined; 0 is 20
}

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

// Create makes dir the folder of a new campaign: spec.json and an empty journal.
func Create(dir string, spec Spec) error { return errors.New("not built") }

// Run runs the campaign in dir from where it stands, and writes its findings and result.json. When
// ctx is cancelled it stops as soon as the runs under way are over and returns what there is, with
// Complete false, and no error; the journal lets a later Run go on.
func Run(ctx context.Context, dir string, opt Options) (*Result, error) {
	return nil, errors.New("not built")
}
