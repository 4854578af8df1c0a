package saga_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/saga"
)

func booked() job.Request {
	return job.Request{
		JobID: "job-1", Topic: "job.book", Tenant: "t", Priority: "LOW", IdempotencyKey: "book", Payload: json.RawMessage(`{"n":1}`),
		Labels: map[string]string{"zone": "a", "approval_granted": "true", "approval_hash": "h", "approved_by": "ops", "replay_of": "job-0", "replay_count": "1"},
		Env:    map[string]string{"A": "1"}, WorkflowID: "wf-1", StepIndex: 2, Capability: "book", Compensation: &job.Compensation{},
	}
}

// What a compensation leaves open is as in the request (Scheduler internals, section 4).
func TestACompensationIsLikeItsJob(t *testing.T) {
	req := booked()
	c := saga.Template(&req)
	sum := sha256.Sum256([]byte("wf-1|job-0|job.book|book|2"))
	assert.Equal(t, job.Request{
		Topic: "job.book", Tenant: "t", Priority: "CRITICAL", IdempotencyKey: hex.EncodeToString(sum[:]), Payload: json.RawMessage(`{"n":1}`),
		Labels:    map[string]string{"zone": "a", "saga_compensation": "true", "is_compensation": "true", "saga_workflow_id": "wf-1", "saga_job_id": "job-1"},
		Env:       map[string]string{"A": "1", "saga_compensation": "true", "saga_workflow_id": "wf-1"},
		StepIndex: 2, Capability: "book",
	}, c)
	assert.Equal(t, booked(), req, "the request stays as it is")
}

func TestACompensationOverridesItsJob(t *testing.T) {
	req := booked()
	req.Compensation = &job.Compensation{
		Topic: "job.cancel", Payload: json.RawMessage(`{"n":2}`), Labels: map[string]string{"zone": "b"}, Env: map[string]string{"A": "3", "B": "2"},
		Budget: &job.Budget{DeadlineMS: 7}, Capability: "cancel", IdempotencyKey: "mine",
	}
	c := saga.Template(&req)
	assert.Equal(t, "job.cancel", c.Topic)
	assert.JSONEq(t, `{"n":2}`, string(c.Payload))
	assert.Equal(t, "b", c.Labels["zone"])
	assert.Equal(t, map[string]string{"A": "3", "B": "2", "saga_compensation": "true", "saga_workflow_id": "wf-1"}, c.Env)
	assert.EqualValues(t, 7, c.Budget.DeadlineMS)
	assert.Equal(t, "cancel", c.Capability)
	assert.Equal(t, "CRITICAL", c.Priority)
	assert.Equal(t, "mine", c.IdempotencyKey)
}

// Neither does a compensation leave another behind, nor is anything rolled back over it.
func TestACompensationIsNoPartOfASaga(t *testing.T) {
	req := booked()
	assert.True(t, saga.Compensated(&req))
	c := saga.Template(&req)
	assert.False(t, saga.Compensated(&c))
	assert.Empty(t, c.WorkflowID)
	alone := booked()
	alone.WorkflowID = ""
	assert.False(t, saga.Compensated(&alone))
}

// Each part of what is compensated is part of its key.
func TestKeysDiffer(t *testing.T) {
	keys := map[string]bool{}
	for _, k := range []string{
		saga.Key("wf", "job", "topic", "cap", 0), saga.Key("wg", "job", "topic", "cap", 0), saga.Key("wf", "jog", "topic", "cap", 0),
		saga.Key("wf", "job", "topid", "cap", 0), saga.Key("wf", "job", "topic", "caq", 0), saga.Key("wf", "job", "topic", "cap", 1),
	} {
		keys[k] = true
	}
	assert.Len(t, keys, 6)
}

// Jobs that have one effect between them, under its idempotency key, have it undone once.
func TestJobsOfOneEffectHaveOneCompensationKey(t *testing.T) {
	for name, c := range map[string]struct {
		id, key, replayOf string
		first             string
	}{
		"a job":                        {"job-1", "job-1:key", "", "job-1"},
		"whose key is its id":          {"job-1", "job-1", "", "job-1"},
		"its replay":                   {"job-1-replay-1", "job-1", "job-1", "job-1"},
		"a replay under its own key":   {"job-1-replay-1", "job-1-replay-1", "job-1", "job-1-replay-1"},
		"an attempt of a step":         {"wf-book-1", "wf:book", "", "wf-book-1"},
		"the next":                     {"wf-book-2", "wf:book", "", "wf-book-1"},
		"a replay of that":             {"wf-book-2-replay-1", "wf:book", "wf-book-2", "wf-book-1"},
		"an attempt of another":        {"wf-pay-2", "wf:pay", "", "wf-pay-1"},
		"a client's job under its key": {"job-1", "wf:book", "", "job-1"},
	} {
		req := job.Request{
			JobID: c.id, Topic: "job.book", IdempotencyKey: c.key, Labels: map[string]string{job.LabelReplayOf: c.replayOf},
			WorkflowID: "wf", Compensation: &job.Compensation{},
		}
		assert.Equal(t, saga.Key("wf", c.first, "job.book", "", 0), saga.Template(&req).IdempotencyKey, name)
	}
}
