package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/wavetank-sim/wavetank/sim"
)

// Read decodes a message, a record or an answer as one of the types of this package. All decoding goes
// through it.
func Read[T any](text string) (*T, error) {
	v := new(T)
	err := json.Unmarshal([]byte(text), v)
	return v, err
}

// differs names a JSON field in which two values of the same type differ; "" if there is none.
func differs(one, other any) string {
	a, b := fields(one), fields(other)
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if !bytes.Equal(a[name], b[name]) {
			return name
		}
		delete(b, name)
	}
	if len(b) > 0 {
		return slices.Min(slices.Collect(maps.Keys(b)))
	}
	return ""
}

// fields returns a value's JSON fields.
func fields(v any) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if body, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(body, &fields) // it was written by Marshal
	}
	return fields
}

// Order is a dispatch: the request, and who is to do it.
type Order struct {
	Request
	WorkerID string `json:"worker_id"`
	Attempt  int    `json:"attempt"`
}

// Reply is a worker's result.
type Reply struct {
	JobID      string `json:"job_id"`
	WorkerID   string `json:"worker_id"`
	Epoch      int64  `json:"epoch"`
	Status     string `json:"status"`
	Reason     string `json:"reason"`
	ReasonCode string `json:"reason_code"`
	ResultPtr  string `json:"result_ptr"`
}

// Legal says whether the status is one that a worker may report.
func (r *Reply) Legal() bool {
	return slices.Contains([]string{"SUCCEEDED", "FAILED", StatusFatal, "CANCELLED", "TIMEOUT"}, r.Status)
}

// Word says that a job is to be cancelled, and why. For a worker it ends the dispatches up to that epoch.
type Word struct {
	JobID  string `json:"job_id"`
	Reason string `json:"reason"`
	Epoch  int64  `json:"epoch"`
}

// DeadLetter is an entry of the dead-letter queue: a failure, and what is decided on it.
type DeadLetter struct {
	Failure
	ReplayStatus string `json:"replay_status"`
	Mismatch     string `json:"replay_snapshot"`
	ReplayReason string `json:"replay_reason"`
	ReplayJob    string `json:"replay_job"`
	DecidedBy    string `json:"decided_by"`
	ChangedBy    string `json:"changed_by"`
	Uncounted    bool   `json:"uncounted"`
	NextReplayAt int64  `json:"next_replay_at"`
	Payload      string `json:"payload"`
	Action       string `json:"action"`
	MaxReplays   int    `json:"max_replays"`
	Owner        string `json:"owner"`
	Approvers    string `json:"approver_group"`
}

// Failure is what a dead letter is about.
type Failure struct {
	JobID       string `json:"job_id"`
	Topic       string `json:"topic"`
	Tenant      string `json:"tenant"`
	Key         string `json:"idempotency_key"`
	Status      string `json:"status"`
	ReasonCode  string `json:"reason_code"`
	LastCause   string `json:"last_cause"`
	Reason      string `json:"reason"`
	Attempts    int    `json:"attempts"`
	Snapshot    string `json:"policy_snapshot"`
	CreatedAt   int64  `json:"created_at"` // unix milliseconds
	MessageAt   int64  `json:"message_at"` // unix nanoseconds
	Fatal       bool   `json:"fatal"`
	Run         string `json:"run"`
	ReplayOf    string `json:"replay_of"`
	ReplayCount int    `json:"replay_count"`
}

// Unlike names a field, as JSON has it, in which another failure is not like this one; "" for none.
func (f *Failure) Unlike(other *Failure) string { return differs(f, other) }

// AuditEvent is a decision in the audit trail.
type AuditEvent struct {
	At         int64  `json:"at"` // unix milliseconds
	Kind       string `json:"kind"`
	JobID      string `json:"job_id"`
	ReasonCode string `json:"reason_code"`
	Reason     string `json:"reason"`
	By         string `json:"by"`
}

// OutputFinding is the record of an output's check.
type OutputFinding struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
	Ptr      string `json:"ptr"`
}

func (f *OutputFinding) String() string {
	return fmt.Sprintf("%q (%s) of %s", f.Decision, f.Reason, f.Ptr)
}

// Verdict is the answer of the safety kernel or the output policy.
type Verdict struct {
	Decision    int               `json:"decision"`
	Reason      string            `json:"reason"`
	Constraints map[string]string `json:"constraints"` // from the safety kernel
	Snapshot    string            `json:"policy_snapshot"`
	RedactedPtr string            `json:"redacted_ptr"` // from the output policy
}

// Known says whether the safety kernel's decision is documented.
func (v *Verdict) Known() bool { return v.Decision > 0 && v.Decision < len(decisions) }

// Input is the name of the safety kernel's decision. An unknown decision denies.
func (v *Verdict) Input() string {
	if v.Known() {
		return decisions[v.Decision]
	}
	return DecisionDeny
}

// Throttles says whether the safety kernel has told its caller to ask again later.
func Throttles(e *sim.Event) bool {
	v, err := Read[Verdict](e.Data)
	return e.Outcome == sim.OutcomeOK && e.Fault == "" && err == nil && v.Input() == DecisionThrottle
}

// Output is the name of the output policy's decision, or "".
func (v *Verdict) Output() string {
	if v.Decision > 0 && v.Decision < len(outputDecisions) {
		return outputDecisions[v.Decision]
	}
	return ""
}
