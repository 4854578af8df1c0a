package policies

import (
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

// What holds for the safety kernel, its circuit breaker and approvals (Scheduler internals, sections 1 and
// 6).
var policyInvariants = []rule.Rule{
	noDispatchWithoutDecision, failOpenGoesOn, kernelIsAskedAboutTheRequest, noDispatchOfDeniedJob, throttledJobWaits, throttledJobComesAgain,
	noCheckWhileCircuitOpen, openCircuitStopsEveryReplica, circuitOpensOnFailuresAlone, openCircuitEnds, closedCircuitLetsCallsThrough, probesAreForgottenInTime,
	halfOpenProbesWithinLimit, halfOpenClosesOnSuccesses, replicaAloneKeepsItsBudget,
	rule.Situation(rule.Reached(model.CircuitOpened), "circuit-opened", "A replica finds the circuit open, and makes no call.", "Scheduler internals, section 6"),
	rule.Situation(rule.Reached(model.CircuitHalfOpened), "circuit-half-opened", "A call goes out while the circuit is half-open.", "Scheduler internals, section 6"),
	rule.Situation(rule.Reached(model.CircuitClosedAgain), "circuit-closed-again", "Calls that succeed close a half-open circuit.", "Scheduler internals, section 6"),
	rule.Situation(rule.Reached(model.CountedAlone), "replica-counts-alone", "A replica cannot read the shared counter of failures, and uses its own.", "Scheduler internals, section 6, multi-replica state"),
	rule.Situation(rule.Reached(model.FailOpenUsed), "input-fail-open", "A job goes on without a decision, because the safety kernel cannot be reached.", "Scheduler internals, section 6, input policy fail mode"),
	rule.Situation(rule.Reached(model.JobThrottled), "job-throttled", "The safety kernel throttles a job: it is to be asked again later.", "Scheduler internals, section 7, safetyThrottleDelay"),
	rule.Situation(rule.Reached(model.JobDenied), "job-denied", "The safety kernel denies a job.", "Scheduler internals, section 1"),
}
