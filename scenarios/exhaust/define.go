package exhaust

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/faults/suggest"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Define runs the plan and lists what is to be tried. For pairs it also runs each single fault. It ignores
// the plan's expectations: every promise is judged in every run. It fails if a run fails. It also fails if
// the plan breaks a promise by itself ([BrokenError]), makes no operation of a phase that is asked for, or
// leaves nothing to try ([NothingError]).
func Define(ctx context.Context, plan *plans.Plan, o Options) (*Definition, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	p := plan.Clone()
	p.Expect = plans.Expect{}
	l, res, err := o.momentsOf(ctx, p, false)
	if err != nil {
		return nil, err
	}
	for _, v := range res.Violations {
		if v.Promised {
			return nil, &BrokenError{p.Name, v.Invariant, v.Step}
		}
	}
	phases := phasesOf(p)
	met := func(phase string) func(moment) bool { return func(m moment) bool { return m.Phase == phase } }
	for _, name := range o.Phases {
		_, known := phases[name]
		brought := o.Pairs && known // a first fault may bring it about
		if !brought && !slices.ContainsFunc(l.Moments, met(name)) {
			hint := ""
			if !known {
				hint = suggest.Hint(name, slices.Sorted(maps.Keys(phases)))
			}
			return nil, nothing("%s makes no operation of phase %.60q%s that a fault can strike; it makes %s", p.Name, name, hint, strings.Join(names(l.Moments), ", "))
		}
	}
	text, err := plans.Marshal(p)
	if err != nil {
		return nil, err
	}
	o.wanted(&l, p.Concerned())
	d, moments := &Definition{Options: o, Plan: string(text), Calm: res.Digest, Apart: l.Apart, Aside: l.Aside}, l.Moments
	if o.EveryLength {
		d.Lengths = lengthsOf(p)
	}
	found := found{}
	for i := range moments {
		m := &moments[i]
		strikes := d.strikesAt(p, phases[m.Phase], m)
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
	if len(d.Tries) == 0 {
		return nil, d.nothingAt(p, moments)
	}
	if o.Only != nil {
		d.Tries = o.Only(d.Tries)
	}
	if !o.Pairs {
		return d, nil
	}
	first := d.Alike
	if err := d.pair(ctx, p, moments); err != nil {
		return d, err
	}
	switch {
	case len(d.Tries) > 0:
		return d, nil
	case d.Alike > first:
		return nil, nothing("each second fault on %s looks the same as one without a first fault; use --unpruned to try them", p.Name)
	}
	return nil, nothing("%s makes no operation that a second fault can strike after a first", p.Name)
}

// BrokenError is the error of a plan that breaks a promise by itself, so that added faults would show
// nothing.
type BrokenError struct {
	Name      string // the plan's name
	Invariant string
	Step      int
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("%s breaks a promise by itself, %s at step %d, so runs with more faults would show nothing; run the plan alone first", e.Name, e.Invariant, e.Step)
}

// NothingError is the error of a plan with nothing to try.
type NothingError struct{ Says string }

func (e *NothingError) Error() string { return e.Says }

func nothing(format string, args ...any) error { return &NothingError{fmt.Sprintf(format, args...)} }

// nothingAt returns the error for moments with nothing to try. It says which kinds of fault could strike
// there.
func (d *Definition) nothingAt(p *plans.Plan, moments []moment) error {
	of, by, first := "", "a fault", ""
	if len(d.Phases) > 0 {
		of = " of phase " + strings.Join(d.Phases, " or ")
	}
	if len(d.Kinds) > 0 {
		by += " of kind " + strings.Join(d.Kinds, " or ")
	}
	if d.Pairs {
		first = " first"
	}
	says := fmt.Sprintf("%s makes no operation%s that %s can strike%s", p.Name, of, by, first)
	phases, all, can := phasesOf(p), *d, map[string]bool{}
	all.Kinds = nil
	for i := range moments {
		for _, f := range all.strikesAt(p, phases[moments[i].Phase], &moments[i]) {
			can[kindOf(&f)] = true
		}
	}
	switch kinds := slices.DeleteFunc(Kinds(), func(kind string) bool { return !can[kind] }); {
	case d.Own > 0:
		return nothing("%s, since a fault of the plan strikes it or keeps it from its server", says)
	case len(kinds) > 0:
		return nothing("%s; kinds that can: %s", says, strings.Join(kinds, ", "))
	}
	return nothing("%s; no kind can", says)
}

// names lists the phases of the moments, each once.
func names(moments []moment) (list []string) {
	for i := range moments {
		if !slices.Contains(list, moments[i].Phase) {
			list = append(list, moments[i].Phase)
		}
	}
	return list
}
