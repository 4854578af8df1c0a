package dlq

import (
	"slices"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// Action is what becomes of an entry (Dead letters, triage policy).
type Action string

// The actions of Dead letters.
const (
	AutoReplay      Action = "auto_replay"      // after a back-off, within max_replays
	Quarantine      Action = "quarantine"       // not until the payload or the adapter's mapping is mended
	RequireApproval Action = "require_approval" // once somebody has approved it
	ManualReview    Action = "manual_review"    // left to a person
)

// Class is a row of the failure triage model of Dead letters, with the reason codes that the engine adds to it; or
// one that the engine adds, of what fits no row.
type Class struct {
	Name    string
	Signals []string // reason codes: the seed's own, then those of the engine
	Action  Action   // where no rule of the policy matches
	Says    string   // the row's replay policy, in a sentence
}

// Classes is the taxonomy of reason codes. It must not be modified.
var Classes = []Class{
	{
		Name: "transient_infrastructure",
		Signals: []string{
			job.ReasonTimeout, "dependency_unavailable", job.ReasonNoWorkers,
			job.ReasonMaxSchedulingRetries, job.ReasonPoolOverloaded, job.ReasonStaleWorker, job.ReasonTenantLimit,
		},
		Action: AutoReplay,
		Says:   "Replayed by itself, with capped exponential back-off and the same idempotency key.",
	},
	{
		Name: "poison_payload",
		Signals: []string{
			job.ReasonSchemaInvalid, job.ReasonParseError, "tool_contract_mismatch",
			job.ReasonNoPoolMapping, job.ReasonSagaUnmarshalFailed,
		},
		Action: Quarantine,
		Says:   "Not replayed until the payload, or what maps it, is mended.",
	},
	{
		Name:    "policy_and_governance",
		Signals: []string{codeDenied, "approval_required", codeMismatch, job.ReasonSafetyDenied},
		Action:  RequireApproval,
		Says:    "Decided anew by the latest policy, once somebody has approved the replay.",
	},
	{
		// A generic failure is in this class, since nobody knows how far its worker came: "vague errors turn
		// replay into guesswork" (Dead letters, limitations).
		Name:    "unknown_commit_state",
		Signals: []string{"partial_external_write", "unknown_commit_state", job.ReasonDispatchFailed},
		Action:  ManualReview,
		Says:    "Checked for a commit first, and then left to a person.",
	},
	{
		Name:    "blocked_output",
		Signals: []string{job.ReasonOutputQuarantined, job.ReasonOutputDenied},
		Action:  ManualReview,
		Says:    "Left to a person, since the job has been done, and only its output is held back: a replay would do it again.",
	},
}

// codeDenied is what Dead letters calls job.ReasonSafetyDenied.
const codeDenied = "denied"

// codeMismatch is raised when another policy decides on a replay than decided on its original.
const codeMismatch = "policy_snapshot_mismatch"

// unclassified is the class of a reason code that is in no row: a worker's own word, say.
var unclassified = Class{
	Name: "unclassified", Action: ManualReview,
	Says: "Left to a person, since no class knows its reason code.",
}

// ClassOf returns the class of a reason code.
func ClassOf(reasonCode string) Class {
	for _, c := range Classes {
		for _, s := range c.Signals {
			if s == reasonCode {
				return c
			}
		}
	}
	return unclassified
}

// OtherCode is what a metric has for a reason code that the taxonomy does not know.
const OtherCode = "other"

// CodeLabel is a reason code as a metric has it. A worker may give any, and each would be a series of its own.
func CodeLabel(reasonCode string) string {
	if slices.Contains(ReasonCodes(), reasonCode) {
		return reasonCode
	}
	return OtherCode
}

// ReasonCodes lists those that the taxonomy knows, class by class.
func ReasonCodes() (codes []string) {
	for _, c := range Classes {
		codes = append(codes, c.Signals...)
	}
	return codes
}
