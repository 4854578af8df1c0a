package safety

import "errors"

// Decision is what the safety kernel says of a job (Scheduler internals, section 1).
type Decision string

// The decisions of Scheduler internals. Throttle stands for its safetyThrottleDelay: the kernel wants to be asked
// again later.
const (
	Allow                Decision = "ALLOW"
	AllowWithConstraints Decision = "ALLOW_WITH_CONSTRAINTS"
	RequireApproval      Decision = "REQUIRE_APPROVAL"
	Deny                 Decision = "DENY"
	Throttle             Decision = "THROTTLE"
)

// Verdict is a decision with what belongs to it.
type Verdict struct {
	Decision    Decision
	Reason      string            // in words
	Constraints map[string]string // with AllowWithConstraints: labels that the dispatch has on top of the job's own
	Snapshot    string            // which policy decided, as sha256:<hex>
}

// ErrUnavailable says that there is no decision: the kernel did not answer in time, or answered with an
// error, or the circuit is open. Scheduler internals calls it SafetyUnavailable.
var ErrUnavailable = errors.New("safety kernel unavailable")
