// Package kernel is a safety kernel and an output policy driven by a short list of rules: the services
// that the scheduler asks over gRPC (Scheduler internals, sections 1, 2 and 6).
//
// A [Policy] is built, or read from YAML; a [Server] answers by it, and by another as soon as it is
// given one:
//
//	default: ALLOW
//	rules:
//	  - {tenant: guest, topic: job.*, decision: DENY, reason: guests run nothing}
//	  - {labels: "tier=gold", decision: ALLOW_WITH_CONSTRAINTS, constraints: "placement.zone=eu"}
//	  - {job_id: "batch-*", decision: REQUIRE_APPROVAL}
//	output:
//	  - {content: password, decision: QUARANTINE, reason: it holds a secret}
//	  - {topic: job.raw, sync: true, decision: DENY}
//
// The first rule that matches decides. In topic, tenant, job_id and the values of labels * stands for any
// text, and no other sign means anything; what a rule leaves out matches everything.
package kernel
