package scenarios

// What can be taken away of the safety kernel, its circuit breaker and approvals, and what plans draw of it.
var (
	policyToggles = []Toggle{
		{Setting: "policy.shared_probes", Off: "false", Scenario: "breaker-storm", Invariant: "half-open-probes-within-limit",
			Says: "Each replica sends as many probes as the limit allows to a safety kernel that has just begun to answer again."},
		{Setting: "policy.shared_breaker", Off: "false", Scenario: "policy-outage", Invariant: "open-circuit-stops-every-replica",
			Says: "Each replica counts its own failures, and goes on asking a safety kernel that the others know to be down."},
	}
	policyDials = []dial{
		{name: "kernel.default", values: []string{"ALLOW", "ALLOW", "DENY"}},
		{name: "engine.policy.timeout", values: []string{"200ms", "10s"}, with: "kernel.default=ALLOW"},
		{name: "engine.policy.throttle_delay", values: []string{"200ms", "1m"}, with: "kernel.default=ALLOW"},
		{name: "engine.policy.open_delay", values: []string{"200ms", "1m"}, with: "kernel.default=ALLOW"},
		{name: "engine.policy.circuit_fail_budget", values: []string{"1", "2", "10"}, with: "kernel.default=ALLOW"},
		{name: "engine.policy.circuit_open_for", values: []string{"1s", "5s", "2m"}, with: "kernel.default=ALLOW"},
		{name: "engine.policy.circuit_half_open_max", values: []string{"2", "5"}, with: "kernel.default=ALLOW"},
		{name: "engine.policy.circuit_close_after", values: []string{"1", "3"}, with: "kernel.default=ALLOW"},
		{name: "engine.policy.shared_probes", values: []string{"true", "false"}, with: "kernel.default=ALLOW"},
	}
)
