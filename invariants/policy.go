package invariants

import "time"

// PolicyConfig are the settings of the input policy that promises depend on. The zero value is of a world
// without a safety kernel.
type PolicyConfig struct {
	Kernel        bool          // there is a safety kernel
	FailMode      string        // "closed" or "open" (Scheduler internals, section 6, as the rest)
	FailBudget    int           // consecutive failures that open the circuit
	OpenFor       time.Duration // how long
	ThrottleDelay time.Duration // before a job that is throttled is asked about again
	HalfOpenMax   int           // probes in half-open
	CloseAfter    int           // successes among them that close the circuit
	SharedBreaker bool          // all replicas count in one key
	SharedProbes  bool          // and their probes too
}

func (c *PolicyConfig) withDefaults() {
	if c.FailMode == "" {
		c.FailMode = failModeClosed
	}
	for n, documented := range map[*int]int{&c.FailBudget: 3, &c.HalfOpenMax: 3, &c.CloseAfter: 2} {
		if *n == 0 {
			*n = documented
		}
	}
	if c.OpenFor == 0 {
		c.OpenFor = 30 * time.Second
	}
	if c.ThrottleDelay == 0 {
		c.ThrottleDelay = 5 * time.Second
	}
}

var (
	withSharedBreaker = setting{"policy.shared_breaker", func(c *Config) bool { return c.Policy.SharedBreaker }}
	withSharedProbes  = setting{"policy.shared_probes", func(c *Config) bool { return c.Policy.SharedProbes }}
)

// What holds of the safety kernel, its circuit breaker and approvals (Scheduler internals, sections 1 and 6).
var policyInvariants = []rule{
	noDispatchWithoutDecision, noDispatchOfDeniedJob, throttledJobWaits, throttledJobComesAgain,
	noCheckWhileCircuitOpen, openCircuitStopsEveryReplica, circuitOpensOnFailuresAlone, openCircuitEnds, closedCircuitLetsCallsThrough,
	halfOpenProbesWithinLimit, halfOpenClosesOnSuccesses, replicaAloneKeepsItsBudget,
	situation(reached(circuitOpened), "circuit-opened", "A replica finds the circuit open, and asks nobody.", "Scheduler internals, section 6"),
	situation(reached(circuitHalfOpened), "circuit-half-opened", "A call goes out while the circuit is half-open.", "Scheduler internals, section 6"),
	situation(reached(circuitClosedAgain), "circuit-closed-again", "Successes in half-open close the circuit.", "Scheduler internals, section 6"),
	situation(reached(countedAlone), "replica-counts-alone", "A replica cannot read the shared counter of failures, and goes by its own.", "Scheduler internals, section 6, multi-replica state"),
	situation(reached(failOpenUsed), "input-fail-open", "A job goes on without a decision, as the safety kernel cannot be reached.", "Scheduler internals, section 6, input policy fail mode"),
	situation(reached(jobThrottled), "job-throttled", "The safety kernel wants to be asked again later.", "Scheduler internals, section 7, safetyThrottleDelay"),
	situation(reached(jobDenied), "job-denied", "The safety kernel denies a job.", "Scheduler internals, section 1"),
}
