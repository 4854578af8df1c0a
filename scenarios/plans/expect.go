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

// under is where the expectations under a preset stand that is not the plan's own.
func (e *Expect) under(preset string) **Expected {
	if preset == PresetDocumented {
		return &e.Documented
	}
	return &e.Hardened
}

// own makes those that are named for the preset the plan's own, and keeps what stood there under another name.
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

// toldUnder is the preset under which the plan's story comes about; empty is the plan's own.
func (e *Expect) toldUnder() string {
	for _, preset := range Presets() {
		if named := *e.under(preset); named != nil && named.Told {
			return preset
		}
	}
	return ""
}

// Expects says whether the plan says what it expects under the preset, be it its own or one that it names.
func (p *Plan) Expects(preset string) bool {
	return preset == p.Preset || *p.Expect.under(preset) != nil
}

// Lead is the plan's story as it stands above a run: with settings that are not its own, another may come
// of it.
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

// violable and reachable list the promises and the situations once: every plan that is drawn is checked against them.
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
