package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/engine"
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

// inTime makes an errand for each job, at a time after its submission, in the order of time.
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
