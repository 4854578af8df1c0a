package scheduler

import (
	"encoding/json"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// request is the submitter's request for its n-th job.
func request(p *plans.Plan, n int) job.Request {
	id := plans.JobID(n)
	r := job.Request{JobID: id, Topic: plans.Topic, Tenant: p.Workload.Tenant(n), IdempotencyKey: p.Workload.Key(n)}
	if d, ok := p.Workload.Deadline[n]; ok {
		r.Budget = &job.Budget{DeadlineMS: d.Milliseconds()}
	}
	if size := p.Workload.Saga; size > 0 {
		r.WorkflowID, r.StepIndex, r.Capability = plans.WorkflowID(1+(n-1)/size), (n-1)%size, "book"
		r.Compensation = plans.Undo(id)
	}
	_ = p.Workload.Route(&r, n) // the plan is valid
	return r
}

// changed is the changer's request under the ID of the n-th job.
func changed(p *plans.Plan, n int) job.Request {
	r := request(p, n)
	r.Payload = json.RawMessage(`{"changed":true}`)
	return r
}

// wantedNoMore is the canceller's reason.
const wantedNoMore = "its submitter wants it no more"
