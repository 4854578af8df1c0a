package model

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// Rescue is the work of a part that is there for failures, in place of another part that should have done it.
type Rescue struct {
	Step int
	Job  string // the job, or the run
	By   string // replayer, reconciler or run reconciler
	Lock int    // the step at which it took the job's lock; 0 if it has none
}

// ResultDue says whether a result of the job is still to be handled.
func (j *Job) ResultDue() bool {
	return slices.ContainsFunc(j.Messages, func(m Message) bool { return m.Consumer == history.ConsumerResult && !m.Done && !m.Lost })
}

// Promptly is how soon the process that ends the job of a step advances the run: at its second try, if
// another process holds the run's lock at the first.
func (f *Facts) Promptly() time.Duration { return 3*time.Second + 2*f.Config.RetryDelayStore }
