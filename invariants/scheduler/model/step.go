package model

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Step is one event as it concerns one job.
type Step struct {
	*sim.Event
	About    *Job
	Handling *Handling // what the event's process has under way for the job, or nil
	Failed   bool      // the caller was told of an error
}

// Rewinds says whether the step is a failover or a death of Redis, which changes back what was written: nobody's doing.
func (s *Step) Rewinds() bool { return s.Kind == sim.KindControl }

// Write is a change of a job's record; the job's own fields hold what it is now.
type Write struct {
	From     State
	Attempts int // before, as the rest
	Epoch    int64
	Version  int64
	Created  int64
	Updated  int64
	Since    time.Duration // when updated was written
	Step     int           // the step of the last state write
	Deadline int64
	Ptr      string // of its output
	Code     string // its reason code
	Request  *history.Request
	Due      time.Duration // when the job's time was up, if it was bounded
	Bounded  bool
	Intent   Intent
}

// Leaves says whether the record is as it was.
func (w *Write) Leaves(j *Job) bool {
	return j.Version == w.Version && j.State == w.From && j.Attempts == w.Attempts && j.Epoch == w.Epoch
}

// LockChange is a change of a lock's key; the job's lock is what it is now.
type LockChange struct {
	Was      Lock
	Taken    bool // a new token
	Extended bool
	Gone     bool
}
