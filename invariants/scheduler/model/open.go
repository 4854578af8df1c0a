package model

import (
	"fmt"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// OpenJobs lists the jobs of schedulers that are not over, and are still to end.
func OpenJobs(f *Facts) (list []string) {
	for _, j := range f.Order {
		if what := f.derived(j); what != "" && j.Accepted && !j.State.Terminal() && (j.State != ApprovalRequired || j.Approved) && !f.Poisoned(j) {
			list = append(list, fmt.Sprintf("%s, %s, is %s", j.ID, what, j.State))
		}
	}
	return list
}

// derived describes a job that no client submitted; it is "" for a client's job.
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

// UnderWay is what the gauges of running work may show. A message is in hand for longer than its handling
// takes, and a rollback releases its lock after it is over.
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
