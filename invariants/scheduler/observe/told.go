package observe

import (
	"slices"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
)

// Open lists, a sentence each, what is still to come besides the jobs of clients, as far as the servers show
// it: jobs that schedulers submitted, rollbacks that are due, runs that are not over. It is empty once there
// is nothing.
func (o *Observer) Open() (list []string) {
	for _, open := range []func(*model.Facts) []string{model.OpenJobs, model.OpenSagas, model.OpenScans, (*model.Facts).LiveRuns, model.ReplayOpen} {
		list = append(list, open(o.Facts)...)
	}
	return list
}

// CircuitOpen says whether the node's calls of the safety kernel are prevented.
func (o *Observer) CircuitOpen(node string) bool {
	for _, c := range slices.Backward(o.Facts.Policy.Changes) {
		if c.Node == node && c.Circuit == history.CircuitNames[history.CircuitSafety] {
			return c.State != history.Closed
		}
	}
	return false
}

// Throttled says whether a job waits rightly because the safety kernel throttles it.
func (o *Observer) Throttled(id string) bool {
	job := o.Facts.Jobs[id]
	return job != nil && o.Facts.Throttled(job, o.Facts.At)
}
