package model

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Step is one event, from the point of view of one job.
type Step struct {
	*sim.Event
	About    *Job
	Handling *Handling // the event's process's handling of the job, or nil
	Failed   bool      // the caller was told of an error
}

// Rewinds says whether the step is a failover or a death of Redis, which changes back what was written. It is
// nobody's write.
func (s *Step) Rewinds() bool { return s.Kind == sim.KindControl }

// Write is a change of a job's record; the job's own fields hold the new values.
type Write struct {
	From     State
	Attempts int // before, like the others
	Epoch    int64
	Version  int64
	Created  int64
	Updated  int64
	Since    time.Duration // when updated was written
	Step     int           // the step of the last state write
	Deadline int64
	Ptr      string // the pointer to its output
	Code     string // its reason code
	Request  *history.Request
	Due      time.Duration // when the job's time was up, if it was bounded
	Bounded  bool
	Intent   Intent
}

// Leaves says whether the record is unchanged.
func (w *Write) Leaves(j *Job) bool {
	return j.Version == w.Version && j.State == w.From && j.Attempts == w.Attempts && j.Epoch == w.Epoch
}

// LockChange is a change of a lock's key; the job's lock holds the new value.
type LockChange struct {
	Was      Lock
	Taken    bool // a new token
	Extended bool
	Gone     bool
}
