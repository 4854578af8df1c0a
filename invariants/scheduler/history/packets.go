package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/wavetank-sim/wavetank/sim"
)

// Read decodes what a message, a record or an answer holds, as one of the types of this package: nothing else decodes any.
func Read[T any](text string) (*T, error) {
	v := new(T)
	err := json.Unmarshal([]byte(text), v)
	return v, err
}

// Order is a dispatch: the request, and who is to do it.
type Order struct {
	Request
	WorkerID string `json:"worker_id"`
	Attempt  int    `json:"attempt"`
}

// Reply is a worker's result.
type Reply struct {
	Status     string `json:"status"`
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
}

func (f *OutputFinding) String() string {
	return fmt.Sprintf("%q (%s) of %s", f.Decision, f.Reason, f.Ptr)
}

// Question is what the safety kernel or the output policy is asked.
type Question struct {
	Topic    string            `json:"topic"`
	Tenant   string            `json:"tenant"`
	Labels   map[string]string `json:"labels"`
	Priority string            `json:"priority"` // of the kernel, as the next
	Requires []string          `json:"requires"`
	JobHash  string            `json:"job_hash"`
	Replay   bool              `json:"replay"`

	ResultPtr   string `json:"result_ptr"` // of the output policy, as the next
	WithContent bool   `json:"with_content"`
	Content     string `json:"content"` // its gist
}

// QuestionOf is what a call asks; nil for none that can be read.
func QuestionOf(e *sim.Event) *Question {
	q, err := Read[Question](e.Asked)
	if err != nil {
		return nil
	}
	return q
}

// Differs says in what the question is not about the request, and what that has; empty words if it is. The labels of an
// approval it need not have.
func (q *Question) Differs(r *Request) (field, is, should string) {
	tenant := cmp.Or(r.Tenant, TenantDefault)
	switch {
	case q.Topic != r.Topic:
		return "topic", q.Topic, r.Topic
	case q.Tenant != tenant:
		return "tenant", q.Tenant, tenant
	case !maps.Equal(ungranted(q.Labels), ungranted(r.Labels)):
		return "labels", fmt.Sprint(q.Labels), fmt.Sprint(r.Labels)
	}
	return "", "", ""
}

// DiffersForKernel is Differs of a question that the safety kernel decides on.
func (q *Question) DiffersForKernel(r *Request) (field, is, should string) {
	_, replays := r.Labels[LabelReplayOf]
	switch {
	case q.Priority != r.Priority:
		return "priority", q.Priority, r.Priority
	case !slices.Equal(q.Requires, r.Requires):
		return "requires", fmt.Sprint(q.Requires), fmt.Sprint(r.Requires)
	case q.Replay != replays:
		return "replay", strconv.FormatBool(q.Replay), strconv.FormatBool(replays)
	}
	if field, is, should = q.Differs(r); field == "" && q.JobHash != r.Hash() {
		return "job_hash", q.JobHash, r.Hash()
	}
	return field, is, should
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
