package scenarios

import (
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
)

// judges says whether the invariant is judged whatever its promise.
func (e *Expect) judges(invariant string) bool {
	return slices.Contains(e.Violates, invariant) || slices.Contains(e.Judged, invariant)
}

// Lead is the plan's story as it stands above a run: with settings that are not its own, another may come
// of it.
func (p *Plan) Lead() string {
	if p.Story == "" || len(p.Expect.Changed) == 0 {
		return p.Story
	}
	return "Unmodified, the plan shows: " + p.Story
}

// Violable lists the invariants that a plan can expect to violate.
func Violable() []string {
	return invariantNames(func(k invariants.Kind) bool { return k != invariants.Sometimes })
}

// reachable lists the situations that a plan can expect to reach.
func reachable() []string {
	return invariantNames(func(k invariants.Kind) bool { return k == invariants.Sometimes })
}

func invariantNames(want func(invariants.Kind) bool) []string {
	var names []string
	for _, inv := range invariants.All() {
		if want(inv.Kind) {
			names = append(names, inv.Name)
		}
	}
	return names
}
