// Package policies has the invariants on what a job is allowed: tenants and their limits, approvals, the
// safety kernel with its circuit, and the output policy.
//
// Its files, each of which calls only those after it:
//
//	policies.go         all of them
//	tenants.go          tenants and their slots
//	approvals.go        approvals
//	policy.go,
//	policy_decision.go,
//	policy_breaker.go   the safety kernel: that it is asked, its decisions, and its circuit
//	outputchecks.go     outputs
package policies
