package scenarios

import "github.com/faultline-sim/faultline/invariants"

// violable lists the invariants that a plan can expect to violate.
func violable() []string {
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
