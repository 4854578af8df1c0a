package phase

// The phases of the safety kernel, approvals and tenants (seed 003, sections 1, 5 and 6). Those of the
// breaker serve the output policy's too.
const (
	BreakerRead   Phase = "breaker_read"   // cordum:cb:safety:failures: is the circuit open?
	BreakerProbe  Phase = "breaker_probe"  // with shared_probes, a call in half-open is counted before it goes out
	SafetyCheck   Phase = "safety_check"   // the call to the safety kernel
	BreakerWrite  Phase = "breaker_write"  // a failure is counted, or a success forgets them
	ApprovalWrite Phase = "approval_write" // APPROVAL_REQUIRED
	DeniedWrite   Phase = "denied_write"   // DENIED
)

var policyPhases = []Phase{BreakerRead, BreakerProbe, SafetyCheck, BreakerWrite, ApprovalWrite, DeniedWrite}
