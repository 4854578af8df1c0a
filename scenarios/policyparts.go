package scenarios

// What can be taken away of the safety kernel, its circuit breaker and approvals, and what plans draw of it.
var (
	policyToggles = []Toggle{}
	policyDials   = []dial{}
)
