package history

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"unicode/utf8"
)

const LabelGranted = "approval_granted"

// labelsOfGrant are no part of what is approved.
var labelsOfGrant = []string{LabelGranted, "approval_hash", "approved_at", "approved_by"}

// Request asks for a job to be done. Its fields stand in the order in which the documentation lists them: by that it is
// hashed.
type Request struct {
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

// ReadRequest decodes a submission; nil if nobody can read it: it is no JSON in UTF-8, or names no job. A scheduler
// refuses more (a request without a topic, say), which no client of a world publishes.
func ReadRequest(packet string) *Request {
	r, err := Read[Request](packet)
	if !utf8.ValidString(packet) || err != nil || r.JobID == "" {
		return nil
	}
	return r
}

// Hash is what an approval of the request is bound to: sha256 over all of it but the trace id and the labels of an
// approval.
func (r *Request) Hash() string {
	bare := *r
	bare.Labels = maps.Clone(r.Labels)
	for _, label := range labelsOfGrant {
		delete(bare.Labels, label)
	}
	body, err := json.Marshal(bare)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Granted says whether the request bears an approval.
func (r *Request) Granted() bool { return r.Labels[LabelGranted] == "true" }

// Undoable says whether the request names what undoes its job.
func (r *Request) Undoable() bool {
	return r.WorkflowID != "" && len(r.Compensation) > 0 && string(r.Compensation) != "null"
}

// Does says whether to do what the other request asks for is to do what this one does.
func (r *Request) Does(other *Request) bool {
	return r.Topic == other.Topic && r.IdempotencyKey == other.IdempotencyKey && string(r.Payload) == string(other.Payload)
}
