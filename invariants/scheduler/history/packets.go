package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/wavetank-sim/wavetank/sim"
)

// Read decodes what a message, a record or an answer holds, as one of the types of this package: nothing else decodes any.
func Read[T any](text string) (*T, error) {
	v := new(T)
	err := json.Unmarshal([]byte(text), v)
	return v, err
}

// differs names a field, as JSON has it, in which one value is not like another of its type; "" for none.
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

// fields is a value as JSON, field by field.
func fields(v any) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if body, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(body, &fields) // it is what Marshal wrote
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

// Legal says whether the status is one of those that a worker may answer.
func (r *Reply) Legal() bool {
	return slices.Contains([]string{"SUCCEEDED", "FAILED", StatusFatal, "CANCELLED", "TIMEOUT"}, r.Status)
}

// Word is that a job is to be cancelled, and why. To a worker it ends the dispatches up to that epoch.
type Word struct {
	JobID  string `json:"job_id"`
	Reason string `json:"reason"`
	Epoch  int64  `json:"epoch"`
}

// DeadLetter is an entry of the dead-letter queue.
type DeadLetter struct {
	Topic        string `json:"topic"`
	Key          string `json:"idempotency_key"`
	Status       string `json:"status"`
	ReasonCode   string `json:"reason_code"`
	LastCause    string `json:"last_cause"`
	Reason       string `json:"reason"`
	Attempts     int    `json:"attempts"`
	ReplayStatus string `json:"replay_status"`
	Mismatch     string `json:"replay_snapshot"`
	ReplayReason string `json:"replay_reason"`
	ReplayJob    string `json:"replay_job"`
	Snapshot     string `json:"policy_snapshot"`
	DecidedBy    string `json:"decided_by"`
	NextReplayAt int64  `json:"next_replay_at"`
	Payload      string `json:"payload"`
	Action       string `json:"action"`
	Owner        string `json:"owner"`
	Approvers    string `json:"approver_group"`
	Fatal        bool   `json:"fatal"`
}

// AuditEvent is a decision in the audit trail.
type AuditEvent struct {
	At     int64  `json:"at"` // unix milliseconds
	Kind   string `json:"kind"`
	JobID  string `json:"job_id"`
	Reason string `json:"reason"`
	By     string `json:"by"`
}

// OutputFinding is what the record of an output's check says.
type OutputFinding struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
	Ptr      string `json:"ptr"`
	At       int64  `json:"at"` // unix milliseconds
}

func (f *OutputFinding) String() string {
	return fmt.Sprintf("%q (%s) of %s", f.Decision, f.Reason, f.Ptr)
}

// Verdict is what the safety kernel or the output policy answers.
type Verdict struct {
	Decision    int               `json:"decision"`
	Reason      string            `json:"reason"`
	Constraints map[string]string `json:"constraints"` // of the kernel
	Snapshot    string            `json:"policy_snapshot"`
	RedactedPtr string            `json:"redacted_ptr"` // of the output policy
}

// Known says whether the safety kernel's decision is one that the documentation has.
func (v *Verdict) Known() bool { return v.Decision > 0 && v.Decision < len(decisions) }

// Input is the decision by the name that it has of the safety kernel. One that nobody knows denies.
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

// Output is the decision by the name that it has of the output policy, or "".
func (v *Verdict) Output() string {
	if v.Decision > 0 && v.Decision < len(outputDecisions) {
		return outputDecisions[v.Decision]
	}
	return ""
}
