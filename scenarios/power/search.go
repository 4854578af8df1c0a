package power

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios"
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
// code without a mistake makes; plans drawn from the seed, in their own orders and under pct; and the scenarios, as they are
// under both presets, from the seed on and in an order that it draws, and perturbed.
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
		return campaign.Spec{Version: campaign.SpecVersion, Name: "power", Seed: seed, Runs: runsMax, Drawn: &campaign.Drawn{Sets: sets}}
	}
	named, err := keeping(ctx)
	if err != nil {
		return nil, err
	}
	// The time may be up before all have run, and the order of their names would leave out the same rooms of the engine each time.
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(named), func(i, j int) { named[i], named[j] = named[j], named[i] })
	list := []Search{
		{"single faults", singles},
		{"pairs of faults", pairs},
		{"random plans", drawn()},
		{"random plans, pct", drawn("schedule.strategy=" + plans.PCT)},
		{"scenarios", campaign.Spec{Version: campaign.SpecVersion, Name: "power", Seed: seed, Grid: &campaign.Grid{
			Plans: named, Points: [][]string{{"preset=" + plans.PresetDocumented}, {"preset=" + plans.PresetHardened}}, Seeds: seedsMax,
		}}},
		{"scenarios, perturbed", campaign.Spec{Version: campaign.SpecVersion, Name: "power", Seed: seed, Runs: runsMax, Drawn: &campaign.Drawn{Plans: named}}},
	}
	for i := range list {
		list[i].Spec.Budget = budget
	}
	return list, nil
}

// More than any budget gets through.
const (
	seedsMax = 1000
	runsMax  = math.MaxInt32
)

// keeping are the scenarios that keep every promise under both presets, without what they expect: a mistake is found where a
// promise breaks. The few that show a part of the engine switched off break one by themselves.
func keeping(ctx context.Context) (texts []string, err error) {
	for _, name := range plans.Names() {
		p, err := plans.Load(name)
		if err != nil {
			return nil, err
		}
		p.Expect = plans.Expect{}
		text, err := plans.Marshal(p)
		if err != nil {
			return nil, err
		}
		keeps := true
		for _, preset := range plans.Presets() {
			if err := p.Set("preset=" + preset); err != nil {
				return nil, err
			}
			res, err := scenarios.Run(ctx, p, scenarios.RunOptions{Source: name})
			if err != nil {
				return nil, err
			}
			keeps = keeps && res.Verdict != scenarios.Violated
		}
		if keeps {
			texts = append(texts, string(text))
		}
	}
	return texts, nil
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
