package output

import (
	"errors"
	"fmt"

	"github.com/wavetank-sim/wavetank/engine/safety/safetypb"
)

// Decision is what the output policy says of a result (Scheduler internals, section 2, output decisions).
type Decision string

// The decisions of Scheduler internals. Skipped is none of the policy's: there was no answer, and the result passes.
const (
	Allow      Decision = "ALLOW"
	Quarantine Decision = "QUARANTINE"
	Deny       Decision = "DENY"   // treated as Quarantine
	Redact     Decision = "REDACT" // the redacted output takes the place of the output
	Skipped    Decision = "SKIPPED"
)

// Verdict is a decision with what belongs to it.
type Verdict struct {
	Decision    Decision
	Reason      string // in words
	RedactedPtr string // with Redact: where the redacted output is; "" if there is none
}

// ErrUndecided says that the policy's answer is no decision.
var ErrUndecided = errors.New("the output policy answered without a decision")

func verdictOf(r *safetypb.CheckOutputResponse) (Verdict, error) {
	v := Verdict{Reason: r.GetReason()}
	switch r.GetDecision() {
	case safetypb.OutputDecision_OUTPUT_ALLOW:
		v.Decision = Allow
	case safetypb.OutputDecision_OUTPUT_QUARANTINE:
		v.Decision = Quarantine
	case safetypb.OutputDecision_OUTPUT_DENY:
		v.Decision = Deny
	case safetypb.OutputDecision_OUTPUT_REDACT:
		v.Decision, v.RedactedPtr = Redact, r.GetRedactedPtr()
	default:
		return Verdict{}, fmt.Errorf("%w (%s)", ErrUndecided, r.GetDecision())
	}
	return v, nil
}
