package observe

import (
	"slices"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
)

// Fenced returns the last one.
func (j *Observer) Fenced() model.Fenced { return j.Facts.Fenced }

// Open says, a sentence each, what is still to come besides the jobs themselves, as far as the servers
// tell: compensations of a rollback that is due, runs that are not over. It is empty once nothing is.
func (j *Observer) Open() (list []string) {
	for _, open := range []func(*model.Facts) []string{model.OpenSagas, model.OpenScans, (*model.Facts).LiveRuns, model.ReplayOpen} {
		list = append(list, open(j.Facts)...)
	}
	return list
}

// Breakers lists what each replica's circuit breakers did, in the order of time.
func (j *Observer) Breakers() []model.BreakerChange { return j.Facts.Policy.Changes }

// CircuitOpen says whether the node's calls of the safety kernel are being held back.
func (j *Observer) CircuitOpen(node string) bool {
	for _, c := range slices.Backward(j.Facts.Policy.Changes) {
		if c.Node == node && c.Circuit == history.CircuitNames[history.CircuitSafety] {
			return c.State != history.Closed
		}
	}
	return false
}

// Throttled says whether the job of that id waits, rightly, as the safety kernel throttles it.
func (j *Observer) Throttled(id string) bool {
	job := j.Facts.Jobs[id]
	return job != nil && j.Facts.Throttled(job, j.Facts.At)
}
