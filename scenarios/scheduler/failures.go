package scheduler

import (
	"strings"
	"sync"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
)

// failures counts how many executions of each job have failed, on any worker.
type failures struct {
	workload *plans.Workload
	mu       sync.Mutex
	done     map[int]int // by job number
}

// numberOf returns the number of a job of the workload, or of the job that a replay is of.
func numberOf(jobID string) (n int, ok bool) {
	original, _, _ := strings.Cut(jobID, "-replay-")
	return plans.JobNumber(original)
}

// of says how an execution that ends now has failed, or nil. The execution of a replay counts for the job
// that it replays.
func (f *failures) of(jobID string) *actors.Failure {
	if f.workload.Failing(jobID) {
		return &actors.Failure{}
	}
	n, ok := numberOf(jobID)
	text, fails := f.workload.Fail[n]
	if !ok || !fails {
		return nil
	}
	how, _ := plans.ParseFailing(text) // the plan is valid
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done[n] == how.Times {
		return nil
	}
	f.done[n]++
	return &actors.Failure{ReasonCode: how.ReasonCode, Committed: how.Committed, Succeeds: how.Succeeds}
}
