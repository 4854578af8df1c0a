package scenarios

// violable lists the invariants that a plan can expect to violate.
func violable() []string { return nil }

// reachable lists the situations that a plan can expect to reach.
func reachable() []string { return nil }
