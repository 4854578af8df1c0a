package plans

import (
	"slices"
	"sync"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
)

// Judges says whether the invariant is judged whatever its promise.
func (e *Expect) Judges(invariant string) bool {
	return slices.Contains(e.Violates, invariant) || slices.Contains(e.Judged, invariant)
}

// under returns the expectations under a preset that is not the plan's own.
func (e *Expect) under(preset string) **Expected {
	if preset == PresetDocumented {
		return &e.Documented
	}
	return &e.Hardened
}

// own makes the expectations under preset the plan's own. It stores the former ones under the preset before.
func (e *Expect) own(preset, before string) {
	named := e.under(preset)
	if *named == nil {
		return
	}
	own := **named
	*named = nil
	if preset != before {
		*e.under(before) = &Expected{e.Violates, e.Sometimes, e.Judged, !own.Told}
	}
	e.Violates, e.Sometimes, e.Judged = own.Violates, own.Sometimes, own.Judged
}

// toldUnder is the preset under which the plan's story happens; empty is the plan's own.
func (e *Expect) toldUnder() string {
	for _, preset := range Presets() {
		if named := *e.under(preset); named != nil && named.Told {
			return preset
		}
	}
	return ""
}

// Expects says whether the plan has expectations under the preset, its own or another.
func (p *Plan) Expects(preset string) bool {
	return preset == p.Preset || *p.Expect.under(preset) != nil
}

// Lead is the plan's story as shown above a run. If the run has other settings than the plan, Lead says that
// it may turn out otherwise.
func (p *Plan) Lead() string {
	switch {
	case p.Story == "":
		return ""
	case len(p.Expect.Changed) > 0:
		return "Unmodified, the plan shows: " + p.Story
	case p.Expect.toldUnder() != "":
		return "Under the preset " + p.Expect.toldUnder() + ", the plan shows: " + p.Story
	}
	return p.Story
}

// Violable lists the invariants that a plan can expect to violate.
func Violable() []string { return slices.Clone(violable()) }

// violable and reachable list the promises and the situations once, since every drawn plan is checked against
// them.
var (
	violable = sync.OnceValue(func() []string {
		return invariantNames(func(k invariants.Kind) bool { return k != invariants.Sometimes })
	})
	reachable = sync.OnceValue(func() []string {
		return invariantNames(func(k invariants.Kind) bool { return k == invariants.Sometimes })
	})
)

func invariantNames(want func(invariants.Kind) bool) (list []string) {
	for _, inv := range judge.All() {
		if want(inv.Kind) {
			list = append(list, inv.Name)
		}
	}
	return list
}
