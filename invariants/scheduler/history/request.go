package history

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

const LabelGranted = "approval_granted"

// labelsOfGrant are no part of what is approved.
var labelsOfGrant = []string{LabelGranted, "approval_hash", "approved_at", "approved_by"}

// wholeRequest is a request's packet, field by field in the order in which the documentation lists them.
type wholeRequest struct {
	JobID          string            `json:"job_id"`
	Topic          string            `json:"topic"`
	Tenant         string            `json:"tenant,omitempty"`
	Priority       string            `json:"priority,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Requires       []string          `json:"requires,omitempty"`
	IdempotencyKey string            `json:"idempotency_key,omitempty"`
	Payload        json.RawMessage   `json:"payload,omitempty"`
	Budget         json.RawMessage   `json:"budget,omitempty"`
	WorkflowID     string            `json:"workflow_id,omitempty"`
	StepIndex      int               `json:"step_index,omitempty"`
	Capability     string            `json:"capability,omitempty"`
	Env            map[string]string `json:"env,omitempty"`
	Compensation   json.RawMessage   `json:"compensation,omitempty"`
}

// HashOf is what an approval of the request is bound to: sha256 over all of it but the trace id and the
// labels of an approval; "" for a packet that cannot be read.
func HashOf(packet string) (hash string, r wholeRequest) {
	if json.Unmarshal([]byte(packet), &r) != nil {
		return "", r
	}
	bare := r
	bare.Labels = map[string]string{}
	for k, v := range r.Labels {
		bare.Labels[k] = v
	}
	for _, label := range labelsOfGrant {
		delete(bare.Labels, label)
	}
	body, err := json.Marshal(bare)
	if err != nil {
		return "", r
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:]), r
}

// Garbled says whether nobody can read a request: it is no JSON in UTF-8, or names no job. A scheduler refuses more
// (a request without a topic, say), which no client of a world publishes.
func Garbled(packet string) bool {
	var r struct {
		JobID string `json:"job_id"`
	}
	return !utf8.ValidString(packet) || json.Unmarshal([]byte(packet), &r) != nil || r.JobID == ""
}

// Illegal says whether the status of a result is none of those that a worker may answer.
func Illegal(result string) bool {
	var r struct {
		Status string `json:"status"`
	}
	return json.Unmarshal([]byte(result), &r) == nil && !slices.Contains([]string{"SUCCEEDED", "FAILED", StatusFatal, "CANCELLED", "TIMEOUT"}, r.Status)
}
