package power

import (
	"context"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/exhaust"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Search is one way to look for mistakes.
type Search struct {
	Name string
	Spec campaign.Spec
}

// Searches are every single fault, and every pair, of calm with two jobs and with one, hardened, by the operations that the
// code without a mistake makes; and plans drawn from the seed, in their own orders and under pct.
func Searches(ctx context.Context, seed uint64, budget time.Duration) ([]Search, error) {
	singles, err := faults(ctx, 2, exhaust.Options{})
	if err != nil {
		return nil, err
	}
	pairs, err := faults(ctx, 1, exhaust.Options{Pairs: true})
	if err != nil {
		return nil, err
	}
	drawn := func(sets ...string) campaign.Spec {
		return campaign.Spec{Version: campaign.SpecVersion, Name: "power", Seed: seed, Drawn: &campaign.Drawn{Sets: sets}}
	}
	list := []Search{
		{"single faults", singles},
		{"pairs of faults", pairs},
		{"random plans", drawn()},
		{"random plans, pct", drawn("schedule.strategy=" + plans.PCT)},
	}
	for i := range list {
		list[i].Spec.Budget = budget
	}
	return list, nil
}

func faults(ctx context.Context, jobs int, o exhaust.Options) (campaign.Spec, error) {
	p, err := plans.Load("calm")
	if err != nil {
		return campaign.Spec{}, err
	}
	p.Workload.Jobs = jobs
	for _, set := range []string{"preset=" + plans.PresetHardened, "topology.deduplicate=true"} {
		if err := p.Set(set); err != nil {
			return campaign.Spec{}, err
		}
	}
	d, err := exhaust.Define(ctx, p, o)
	if err != nil {
		return campaign.Spec{}, err
	}
	return d.Spec(), nil
}
