package model

import (
	"fmt"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// OpenJobs says which of the jobs that schedulers submitted themselves are not over, and are still to come to an end.
func OpenJobs(f *Facts) (list []string) {
	for _, j := range f.Order {
		if what := f.derived(j); what != "" && j.Accepted && !j.State.Terminal() && (j.State != ApprovalRequired || j.Approved) && !f.Poisoned(j) {
			list = append(list, fmt.Sprintf("%s, %s, is %s", j.ID, what, j.State))
		}
	}
	return list
}

// derived says what a job is that no client submitted; "" for one that a client did.
func (f *Facts) derived(j *Job) string {
	switch {
	case j.Replay.Of != "":
		return "a replay"
	case strings.HasPrefix(j.ID, history.CompensationIDs):
		return "a compensation"
	case f.Workflow.Jobs[j.ID] != nil:
		return "the job of a step"
	}
	return ""
}

// UnderWay are what the gauges of what is under way may say: a message is in hand for longer than its handling takes, and a
// rollback gives its lock back once it is over.
func (f *Facts) UnderWay() (handlings, rollbacks int) {
	for _, j := range f.Order {
		for i := range j.Messages {
			handlings += len(j.Messages[i].holders())
		}
	}
	for _, g := range f.Sagas.Order {
		rollbacks += len(g.rollers)
	}
	return handlings, rollbacks
}
