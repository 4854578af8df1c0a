package power

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
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

// Searches are single faults, and pairs, on the scenarios that keep every promise under both presets, hardened, by the operations
// that the code without a mistake makes; plans drawn from the seed, in their own orders and under pct; and those scenarios, as
// they are under both presets, from the seed on, and perturbed. The seed draws the order of the scenarios, too.
func Searches(ctx context.Context, seed uint64, budget time.Duration) ([]Search, error) {
	named, err := keeping(ctx)
	if err != nil {
		return nil, err
	}
	// The time may be up before all have run, and the order of their names would leave out the same rooms of the engine each time.
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(named), func(i, j int) { named[i], named[j] = named[j], named[i] })
	most := int(budget.Seconds()*perSecond) + 1
	singles, err := faults(ctx, named, seed, most, false)
	if err != nil {
		return nil, err
	}
	pairs, err := faults(ctx, named, seed, most, true)
	if err != nil {
		return nil, err
	}
	drawn := func(sets ...string) campaign.Spec {
		return campaign.Spec{Version: campaign.SpecVersion, Name: "power", Seed: seed, Runs: runsMax, Drawn: &campaign.Drawn{Sets: sets}}
	}
	list := []Search{
		{"single faults", campaign.Spec{Version: campaign.SpecVersion, Name: "power", Seed: seed, Given: singles}},
		{"pairs of faults", campaign.Spec{Version: campaign.SpecVersion, Name: "power", Seed: seed, Given: pairs}},
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
	seedsMax  = 1000
	runsMax   = math.MaxInt32
	perSecond = 50 // runs of one process
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

// faults are so many plans, or a few more: each a scenario with one fault more, hardened, or with two. They take one try of
// each scenario in turn, and the tries in an order drawn from the seed, so that those that come early strike all over the
// engine. All pairs of a scenario begin with one single fault, which is drawn, as each first fault takes a run to list what can follow.
func faults(ctx context.Context, named []string, seed uint64, most int, pairs bool) ([]string, error) {
	rounds := make([][]string, 1+most/len(named))
	for i, text := range named {
		p, err := plans.Parse("keeping", []byte(text))
		if err != nil {
			return nil, err
		}
		for _, set := range []string{"preset=" + plans.PresetHardened, "topology.deduplicate=true"} {
			if err := p.Set(set); err != nil {
				return nil, err
			}
		}
		draw, o := rand.New(rand.NewPCG(seed, uint64(i))), exhaust.Options{Reduced: true, Pairs: pairs}
		if pairs {
			o.Only = func(firsts []exhaust.Try) []exhaust.Try { n := draw.IntN(len(firsts)); return firsts[n : n+1] }
		}
		d, err := exhaust.Define(ctx, p, o)
		if _, none := errors.AsType[*exhaust.NothingError](err); none { // comes after the first
			continue
		}
		if err != nil {
			return nil, err
		}
		draw.Shuffle(len(d.Tries), func(i, j int) { d.Tries[i], d.Tries[j] = d.Tries[j], d.Tries[i] })
		for n := range min(len(rounds), len(d.Tries)) {
			struck, err := d.PlanOf(n)
			if err != nil {
				return nil, err
			}
			text, err := plans.Marshal(struck)
			if err != nil {
				return nil, err
			}
			rounds[n] = append(rounds[n], string(text))
		}
	}
	return slices.Concat(rounds...), nil
}
