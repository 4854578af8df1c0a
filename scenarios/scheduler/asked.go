package scheduler

import (
	"encoding/json"
	"time"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
)

// askedConfig is what the clients of a plan are to store. It is made when it is asked for.
func askedConfig(p *plans.Plan) config.AskedConfig {
	work, requests := &p.Workload, map[string]func(*plans.Plan, int) job.Request{actors.SubmitterName: request, actors.ChangerName: changed}
	return config.AskedConfig{
		Request: func(client, id string) *history.Request {
			n, ok := plans.JobNumber(id)
			if of := requests[client]; ok && of != nil {
				return packed[history.Request](of(p, n))
			}
			return nil
		},
		Run: func(id string, began time.Time) *history.RunRecord {
			if n, ok := plans.RunNumber(id); ok {
				return packed[history.RunRecord](work.Run(n, began))
			}
			return nil
		},
		Reason: func(id string) (reason string, cancelled bool) {
			n, _ := plans.JobNumber(id)
			_, cancelled = work.Cancel[n]
			return wantedNoMore, cancelled
		},
	}
}

// packed is what judging reads in a packet or a record.
func packed[T any](from any) *T {
	body, err := json.Marshal(from)
	if err != nil {
		panic(err) // the plan is valid
	}
	to, err := history.Read[T](string(body))
	if err != nil {
		panic(err)
	}
	return to
}

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
