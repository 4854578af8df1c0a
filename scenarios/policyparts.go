package scenarios

// What can be taken away of the safety kernel, its circuit breaker and approvals, and what plans draw of it.
var (
	policyToggles = []Toggle{}
	policyDials   = []dial{
		{name: "kernel.default", values: []string{"ALLOW", "ALLOW", "DENY"}},
		{name: "engine.policy.timeout", values: []string{"200ms", "10s"}},
		{name: "engine.policy.throttle_delay", values: []string{"200ms", "1m"}},
		{name: "engine.policy.open_delay", values: []string{"200ms", "1m"}},
		{name: "engine.policy.circuit_fail_budget", values: []string{"1", "2", "10"}},
		{name: "engine.policy.circuit_open_for", values: []string{"1s", "5s", "2m"}},
		{name: "engine.policy.circuit_half_open_max", values: []string{"2", "5"}},
		{name: "engine.policy.circuit_close_after", values: []string{"1", "3"}},
	}
)
