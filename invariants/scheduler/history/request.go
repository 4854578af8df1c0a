package history

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

const LabelGranted = "approval_granted"

// labelsOfGrant are not part of what is approved.
var labelsOfGrant = []string{LabelGranted, "approval_hash", "approved_at", "approved_by"}

// Request asks for a job to be done. Its fields are in the order of the documentation, by which it is hashed.
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

// ReadRequest decodes a submission; nil if it is unreadable, because it is no JSON in UTF-8 or names no job.
// A scheduler refuses more, such as a request without a topic. No client of a world publishes such requests.
func ReadRequest(packet string) *Request {
	r, err := Read[Request](packet)
	if !utf8.ValidString(packet) || err != nil || r.JobID == "" {
		return nil
	}
	return r
}

// Hash is the hash to which an approval of the request is bound: sha256 of everything except the trace ID and
// the labels of an approval.
func (r *Request) Hash() string {
	bare := *r
	bare.Labels = ungranted(r.Labels)
	body, err := json.Marshal(bare)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// ungranted returns labels without those of an approval.
func ungranted(labels map[string]string) map[string]string {
	bare := maps.Clone(labels)
	for _, label := range labelsOfGrant {
		delete(bare, label)
	}
	return bare
}

// Granted says whether the request carries an approval.
func (r *Request) Granted() bool { return r.Labels[LabelGranted] == "true" }

// Bears says whether the request states these facts of its approval: the hash to which it is bound, when it
// was given and by whom.
func (r *Request) Bears(hash, at, by string) bool {
	return r.Granted() && r.Labels["approval_hash"] == hash && r.Labels["approved_at"] == at && r.Labels["approved_by"] == by
}

// DeadlineMS is the time from the submission to the job's deadline, in milliseconds; 0 is never.
func (r *Request) DeadlineMS() int64 {
	b, err := Read[budget](string(r.Budget))
	if err != nil {
		return 0
	}
	return max(b.DeadlineMS, 0)
}

type budget struct {
	DeadlineMS int64 `json:"deadline_ms"`
}

// Undoable says whether the request names a compensation.
func (r *Request) Undoable() bool {
	return r.WorkflowID != "" && len(r.Compensation) > 0 && string(r.Compensation) != "null"
}

// Does says whether the other request asks for the same work.
func (r *Request) Does(other *Request) bool {
	return r.Topic == other.Topic && r.Tenant == other.Tenant && r.IdempotencyKey == other.IdempotencyKey && string(r.Payload) == string(other.Payload)
}

// Unlike names a field of the request that a dispatch must have and other has not; "" if there is none. The
// labels of an approval are ignored.
func (r *Request) Unlike(other *Request) string {
	switch {
	case r.Topic != other.Topic:
		return "topic"
	case r.Tenant != other.Tenant:
		return "tenant"
	case r.IdempotencyKey != other.IdempotencyKey:
		return "idempotency key"
	case string(r.Payload) != string(other.Payload):
		return "payload"
	case !maps.Equal(r.Labels, other.Labels) && !maps.Equal(ungranted(r.Labels), ungranted(other.Labels)):
		return "labels"
	case !maps.Equal(r.Env, other.Env):
		return "environment"
	}
	return ""
}

// Constrained is the request with the labels that the safety kernel has added.
func (r *Request) Constrained(by map[string]string) *Request {
	c := *r
	c.Labels = overlay(r.Labels, by)
	return &c
}

// Differs names a field in which the two requests differ, or "" if there is none.
func (r *Request) Differs(other *Request) string { return differs(r, other) }

// Again is the request of the job that replays this one's (Dead letters). count is the number of the
// original's replay, from 1. If payload is empty, it has this request's payload.
func (r *Request) Again(id, key, original string, count int, payload string) *Request {
	a := *r
	a.JobID, a.IdempotencyKey, a.Labels = id, key, r.labelsFor(map[string]string{LabelReplayOf: original, LabelReplayCount: strconv.Itoa(count)})
	if payload != "" {
		a.Payload = json.RawMessage(payload)
	}
	return &a
}

// Undo is the request of the job that undoes this one's (Scheduler internals, section 4): this one with the
// overrides of its compensation, and marked. If the compensation names no key, the key is derived from first,
// the job that was the first to have the effect.
func (r *Request) Undo(id, first string) *Request {
	c, err := Read[Request](string(r.Compensation))
	if err != nil {
		return nil
	}
	u := *r
	u.JobID, u.WorkflowID, u.Compensation, u.Priority = id, "", nil, "CRITICAL"
	u.Topic, u.Capability = cmp.Or(c.Topic, r.Topic), cmp.Or(c.Capability, r.Capability)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s|%s|%s|%s|%d", r.WorkflowID, first, u.Topic, u.Capability, r.StepIndex))
	u.IdempotencyKey = cmp.Or(c.IdempotencyKey, hex.EncodeToString(sum[:]))
	if c.Payload != nil {
		u.Payload = c.Payload
	}
	if c.Budget != nil {
		u.Budget = c.Budget
	}
	mark := map[string]string{"saga_compensation": "true", "saga_workflow_id": r.WorkflowID}
	u.Env = overlay(r.Env, c.Env, mark)
	u.Labels = r.labelsFor(c.Labels, mark, map[string]string{"is_compensation": "true", "saga_job_id": r.JobID})
	return &u
}

// labelsFor returns the labels for a job derived from the request's: without those of a replay or an
// approval, and with more.
func (r *Request) labelsFor(more ...map[string]string) map[string]string {
	own := maps.Clone(r.Labels)
	maps.DeleteFunc(own, func(name, _ string) bool {
		return name == LabelReplayOf || name == LabelReplayCount || slices.Contains(labelsOfGrant, name)
	})
	return overlay(append([]map[string]string{own}, more...)...)
}

// overlay merges maps; later ones win.
func overlay(list ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range list {
		maps.Copy(all, m)
	}
	return all
}
