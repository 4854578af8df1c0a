package history

import (
	"encoding/json"
	"strconv"
	"strings"
)

// RunRecord is a run's record.
type RunRecord struct {
	RunID      string    `json:"run_id"`
	WorkflowID string    `json:"workflow_id"`
	Tenant     string    `json:"tenant"`
	State      string    `json:"state"`
	Reason     string    `json:"reason"`
	CreatedAt  int64     `json:"created_at"` // unix milliseconds, like the other times
	UpdatedAt  int64     `json:"updated_at"`
	Version    int64     `json:"version"`
	Steps      []RunStep `json:"steps"`
}

// Over says whether the run has ended.
func (r *RunRecord) Over() bool { return r.State != "RUNNING" }

// RunStep is a step in its run's record.
type RunStep struct {
	ID string `json:"id"`
	StepTerms
	State         string `json:"state"`
	Attempt       int    `json:"attempt"`
	NextAttemptAt int64  `json:"next_attempt_at"`
	JobID         string `json:"job_id"`
	Reason        string `json:"reason"` // of its last failure
}

// StepTerms is what a run's starter specifies for a step.
type StepTerms struct {
	DependsOn  []string `json:"depends_on"`
	DelaySec   int64    `json:"delay_sec"`
	DelayUntil int64    `json:"delay_until"`
	Retry      struct {
		Max       int   `json:"max"`
		BackoffMS int64 `json:"backoff_ms"`
	} `json:"retry"`
	Topic        string            `json:"topic"`
	Labels       map[string]string `json:"labels"`
	Payload      json.RawMessage   `json:"payload"`
	Capability   string            `json:"capability"`
	Compensation json.RawMessage   `json:"compensation"`
}

// Request returns the request for an attempt of the run's step i.
func (r *RunRecord) Request(i, attempt int) *Request {
	s := &r.Steps[i]
	id := StepJobID(r.RunID, s.ID, attempt)
	return &Request{
		JobID: id, Topic: s.Topic, Tenant: r.Tenant, Labels: s.Labels, IdempotencyKey: r.RunID + ":" + s.ID, Payload: s.Payload,
		WorkflowID: r.RunID, StepIndex: i, Capability: s.Capability, Compensation: s.Compensation,
	}
}

// Differs names what the starter of the other run specifies differently, or "".
func (r *RunRecord) Differs(other *RunRecord) string {
	switch {
	case r.WorkflowID != other.WorkflowID:
		return "workflow_id"
	case r.Tenant != other.Tenant:
		return "tenant"
	case len(r.Steps) != len(other.Steps):
		return "steps"
	}
	for i := range r.Steps {
		a, b := &r.Steps[i], &other.Steps[i]
		if a.ID != b.ID {
			return "steps"
		}
		if field := differs(&a.StepTerms, &b.StepTerms); field != "" {
			return a.ID + "." + field
		}
	}
	return ""
}

func StepJobID(run, step string, attempt int) string {
	return run + "-" + step + "-" + strconv.Itoa(attempt)
}

func CutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}

func (r *RunRecord) StepCalled(id string) *RunStep {
	for i := range r.Steps {
		if r.Steps[i].ID == id {
			return &r.Steps[i]
		}
	}
	return nil
}
