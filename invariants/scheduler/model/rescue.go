package model

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// Rescue is that a path which is there for what goes wrong did what another path should have done.
type Rescue struct {
	Step int
	Job  string // or the run
	By   string // replayer, reconciler or run reconciler
	Lock int    // the step at which it took the job's lock; 0 if it has none
}

// ResultDue says whether a result of the job is left to be handled.
func (j *Job) ResultDue() bool {
	return slices.ContainsFunc(j.Messages, func(m Message) bool { return m.Consumer == history.ConsumerResult && !m.Done && !m.Lost })
}

// Promptly is how soon whoever ends the job of a step brings its run on: at the second try, where another holds the run's
// lock at the first.
func (f *Facts) Promptly() time.Duration { return 3*time.Second + 2*f.Config.RetryDelayStore }
