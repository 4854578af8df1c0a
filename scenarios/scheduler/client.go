package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
	"github.com/wavetank-sim/wavetank/sim"
)

func (s *System) clientConfig(p *sim.Process) engine.ClientConfig {
	return engine.ClientConfig{Redis: p.Redis(), JetStream: p.JetStream(), Clock: p.Clock(), Settings: s.plan.Engine}
}

func (s *System) client(p *sim.Process) *engine.Client {
	client, err := engine.NewClient(s.clientConfig(p))
	if err != nil {
		panic(fmt.Sprintf("%s: %v", p.Node(), err))
	}
	return client
}

func (s *System) request(n int) job.Request {
	id := plans.JobID(n)
	r := job.Request{JobID: id, Topic: plans.Topic, Tenant: s.plan.Workload.Tenant(n), IdempotencyKey: s.plan.Workload.Key(n)}
	if d, ok := s.plan.Workload.Deadline[n]; ok {
		r.Budget = &job.Budget{DeadlineMS: d.Milliseconds()}
	}
	if size := s.plan.Workload.Saga; size > 0 {
		r.WorkflowID, r.StepIndex, r.Capability = plans.WorkflowID(1+(n-1)/size), (n-1)%size, "book"
		r.Compensation = plans.Undo(id)
	}
	_ = s.plan.Workload.Route(&r, n) // the plan is valid
	return r
}

// inTime is what somebody does to single jobs, each so long after its submission, in the order of time.
func (s *System) inTime(after map[int]time.Duration, do func(ctx context.Context, n int) error) (errands []actors.Errand) {
	every := s.plan.Workload.Every
	jobs := slices.SortedFunc(maps.Keys(after), func(a, b int) int {
		return cmp.Or(cmp.Compare(time.Duration(a)*every+after[a], time.Duration(b)*every+after[b]), cmp.Compare(a, b))
	})
	for _, n := range jobs {
		errands = append(errands, actors.Errand{After: time.Duration(n)*every + after[n], Do: func(ctx context.Context) error { return do(ctx, n) }})
	}
	return errands
}
