package scheduler

import (
	"strings"
	"sync"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
)

// executions says how the executions of jobs and of steps end, for those that do not simply succeed.
func executions(w *plans.Workload) map[string]config.Execution {
	fails := func(f plans.Failing) config.Execution {
		return config.Execution{Fails: config.Outcome{Status: string(job.StatusFailed), ReasonCode: f.ReasonCode, Reason: actors.ReasonFailed}, Committed: f.Committed, Succeeds: f.Succeeds > 0}
	}
	list := map[string]config.Execution{}
	for n := range w.Fail {
		how, _ := plans.ParseFailing(w.Fail[n]) // the plan is valid
		list[plans.JobID(n)] = fails(how)
	}
	for n, status := range w.Answer {
		x := list[plans.JobID(n)]
		x.Answer = status
		list[plans.JobID(n)] = x
	}
	for _, id := range w.FailingSteps() {
		list[id] = fails(plans.Failing{})
	}
	return list
}

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
