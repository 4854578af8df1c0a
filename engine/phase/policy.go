package phase

// The phases of the safety kernel, approvals and tenants (Scheduler internals, sections 1, 5 and 6). Those of the
// breaker serve the output policy's too.
const (
	BreakerRead   Phase = "breaker_read"   // cordum:cb:safety:failures: is the circuit open?
	BreakerProbe  Phase = "breaker_probe"  // with shared_probes, a call in half-open is counted before it goes out
	SafetyCheck   Phase = "safety_check"   // the call to the safety kernel
	BreakerWrite  Phase = "breaker_write"  // a failure is counted, or a success forgets them
	ApprovalWrite Phase = "approval_write" // APPROVAL_REQUIRED
	DeniedWrite   Phase = "denied_write"   // DENIED

	ApproveRead    Phase = "approve_read"    // an approver looks at a job
	ApproveWrite   Phase = "approve_write"   // it grants its approval
	ApprovePublish Phase = "approve_publish" // it publishes the request again, to sys.job.submit
	ApprovalAge    Phase = "approval_age"    // with bind_approvals, the time of Redis, which tells how old an approval is
	ApprovedWrite  Phase = "approved_write"  // back to PENDING, with the request that was approved
	AskAgainWrite  Phase = "ask_again_write" // the request has changed: another approval is asked for
)
