package engine

// PolicySettings are the knobs of the safety kernel, its circuit breaker and approvals (seed 003, sections 1 and 6).
type PolicySettings struct{}

func documentedPolicy() PolicySettings { return PolicySettings{} }

func hardenedPolicy() PolicySettings { return documentedPolicy() }
