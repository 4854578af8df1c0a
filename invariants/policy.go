package invariants

// What holds of the safety kernel, its circuit breaker and approvals (seed 003, sections 1 and 6).
var policyInvariants = []Invariant{}

// PolicyConfig are the settings of it that promises depend on.
type PolicyConfig struct{}
