package exhaust

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Define runs the plan and lists what is to be tried; for pairs it runs each single fault, too. What the plan expects is
// put aside: every promise is judged in every run. It fails if a run cannot be had, if the plan breaks a promise by itself,
// or if it makes no operation of a phase that is asked for.
func Define(ctx context.Context, plan *plans.Plan, o Options) (*Definition, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	p := plan.Clone()
	p.Expect = plans.Expect{}
	moments, apart, res, err := o.momentsOf(ctx, p, false)
	if err != nil {
		return nil, err
	}
	for _, v := range res.Violations {
		if v.Promised {
			return nil, fmt.Errorf("%s breaks a promise by itself, %s at step %d, so that nothing can be said of more faults: run it alone first", p.Name, v.Invariant, v.Step)
		}
	}
	phases := phasesOf(p)
	met := func(phase string) func(moment) bool { return func(m moment) bool { return m.Phase == phase } }
	for _, name := range o.Phases {
		_, known := phases[name]
		brought := o.Pairs && known // by a first fault, maybe
		if !brought && !slices.ContainsFunc(moments, met(name)) {
			return nil, fmt.Errorf("%s makes no operation of phase %.60q that a fault can strike; it makes %s", p.Name, name, strings.Join(names(moments), ", "))
		}
	}
	text, err := plans.Marshal(p)
	if err != nil {
		return nil, err
	}
	d := &Definition{Options: o, Plan: string(text), Calm: res.Digest}
	if moments = d.wanted(moments, p.Concerned()); len(o.Phases) == 0 {
		d.Apart = apart
	}
	if o.EveryLength {
		d.Lengths = lengthsOf(p)
	}
	found := found{}
	for i := range moments {
		m := &moments[i]
		strikes := d.strikesAt(p, phases[m.Phase], &m.Site)
		if d.Reduced {
			strikes = d.fresh(found, m, strikes)
		}
		if len(strikes) == 0 {
			continue
		}
		for _, f := range strikes {
			d.Tries = append(d.Tries, Try{-1, len(d.Sites), f})
		}
		d.Sites = append(d.Sites, m.Site)
	}
	if o.Pairs {
		return d, d.pair(ctx, p, moments)
	}
	return d, nil
}

// names are the phases of the moments, each once.
func names(moments []moment) (list []string) {
	for i := range moments {
		if !slices.Contains(list, moments[i].Phase) {
			list = append(list, moments[i].Phase)
		}
	}
	return list
}
