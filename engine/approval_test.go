package engine

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/safety/safetypb"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// asks makes the kernel require approvals.
func asks(t *testing.T, change ...func(*settings.Settings)) (*harness, *kernel) {
	t.Helper()
	h, k := withKernel(t, append([]func(*settings.Settings){hardened}, change...)...)
	k.answer = &safetypb.CheckResponse{Decision: safetypb.Decision_REQUIRE_APPROVAL, Reason: "it sends mail", PolicySnapshot: "sha256:1"}
	h.redis.SetTime(h.clock.Now())
	return h, k
}

func (h *harness) client() *Client {
	h.t.Helper()
	c, err := NewClient(ClientConfig{Redis: h.config.Redis, JetStream: h.config.JetStream, Clock: h.clock, Settings: h.config.Settings})
	require.NoError(h.t, err)
	return c
}

// parked submits job-1 and has it wait for its approval.
func (h *harness) parked() job.Request {
	h.t.Helper()
	req := h.submit()
	require.NoError(h.t, h.handle(req))
	require.Equal(h.t, job.ApprovalRequired, h.record().State)
	return req
}

// resubmitted is the last request in the stream.
func (h *harness) resubmitted() (req job.Request) {
	h.t.Helper()
	s, err := h.js.Stream(h.t.Context(), bus.StreamSys)
	require.NoError(h.t, err)
	m, err := s.GetLastMsgForSubject(h.t.Context(), bus.SubjectSubmit)
	require.NoError(h.t, err)
	require.NoError(h.t, json.Unmarshal(m.Data, &req))
	return req
}

func changed(req job.Request) job.Request {
	req.Payload = json.RawMessage(`{"n":666}`)
	return req
}

func (h *harness) audited() []string {
	list, _ := h.redis.List("cordum:audit")
	return list
}

// Scheduler internals, section 1, approval flow.
func TestAJobGoesOnOnceItIsApproved(t *testing.T) {
	h, _ := asks(t)
	req := h.parked()
	assert.Equal(t, req.Hash(), h.record().Decided.JobHash)
	assert.Empty(t, h.dispatches())
	require.NoError(t, h.handle(req), "a redelivery changes nothing")
	assert.Equal(t, job.ApprovalRequired, h.record().State)

	asked, err := h.client().Look(t.Context(), "job-1")
	require.NoError(t, err)
	assert.Equal(t, Asked{State: job.ApprovalRequired, Hash: req.Hash(), Request: req, Reason: "it sends mail"}, asked)
	require.NoError(t, h.client().Approve(t.Context(), "job-1", asked.Hash, "ops"))
	assert.Equal(t, job.ApprovalRequired, h.record().State, "a scheduler takes it on")
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.ApprovalRequired, h.record().State, "a request without the label does not bear the approval")
	approvedReq := h.resubmitted()
	assert.Equal(t, map[string]string{
		"approval_granted": "true", "approval_hash": req.Hash(), "approved_at": "1700000000000", "approved_by": "ops",
	}, approvedReq.Labels)
	assert.Equal(t, req.Hash(), approvedReq.Hash(), "the approval is no part of it")
	unsure := approvedReq
	unsure.Labels = maps.Clone(approvedReq.Labels)
	unsure.Labels[job.LabelApprovalGranted] = "yes"
	require.NoError(t, h.handle(unsure))
	assert.Equal(t, job.ApprovalRequired, h.record().State, "and neither does one with another word than true")
	require.NoError(t, h.handle(approvedReq))
	assert.Equal(t, job.Running, h.record().State)
	assert.Equal(t, "REQUIRE_APPROVAL", h.record().Decided.Decision)
	require.Len(t, h.dispatches(), 1)
	assert.EqualValues(t, 1, h.metric(`scheduler_approvals_required_total{topic="job.default"}`))
	assert.EqualValues(t, 1, h.metric(`scheduler_approvals_granted_total{topic="job.default"}`))
	assert.Equal(t, []string{
		`{"at":1700000000000,"kind":"approval_required","job_id":"job-1","reason":"it sends mail"}`,
		`{"at":1700000000000,"kind":"approval_granted","job_id":"job-1","reason":"` + req.Hash() + `","by":"ops"}`,
	}, h.audited())
	require.NoError(t, h.handle(req), "and so does an old request")
	assert.Len(t, h.dispatches(), 1)
}

func TestWhatCannotBeApproved(t *testing.T) {
	h, _ := asks(t)
	c := h.client()
	assert.ErrorContains(t, c.Approve(t.Context(), "job-1", "", "ops"), "no job record")
	req := h.submit()
	assert.ErrorIs(t, c.Approve(t.Context(), "job-1", "", "ops"), ErrNotWaiting)
	require.NoError(t, h.handle(req))
	assert.ErrorIs(t, c.Approve(t.Context(), "job-1", "another", "ops"), ErrChanged)
	assert.Len(t, h.audited(), 1)
	h.faults.on(phase.ApproveWrite, "before")
	assert.ErrorIs(t, c.Approve(t.Context(), "job-1", "", "ops"), errInjected)
	require.NoError(t, c.Approve(t.Context(), "job-1", "", "ops"), "whatever waits")
	assert.Equal(t, req.Hash(), h.record().Grant.Hash)
	_, err := c.Look(t.Context(), "job-2")
	require.NoError(t, err, "there is none")
}

// The approval is of what was looked at: a job that has changed since needs another.
func TestAChangedJobNeedsAnotherApproval(t *testing.T) {
	h, _ := asks(t)
	req := h.parked()
	other := changed(req)
	require.NoError(t, h.handle(other))
	assert.Equal(t, job.ApprovalRequired, h.record().State)
	assert.Equal(t, other.Hash(), h.record().Decided.JobHash)
	assert.ErrorIs(t, h.client().Approve(t.Context(), "job-1", req.Hash(), "ops"), ErrChanged)
	require.NoError(t, h.client().Approve(t.Context(), "job-1", other.Hash(), "ops"))
	require.NoError(t, h.handle(h.resubmitted()))
	require.Len(t, h.dispatches(), 1)
	assert.JSONEq(t, `{"n":666}`, string(h.dispatches()[0].Payload))
	assert.EqualValues(t, 2, h.metric(`scheduler_approvals_required_total{topic="job.default"}`))
	assert.Contains(t, h.audited()[1], "the request has changed: "+other.Hash())
}

// Whatever comes in between, what was approved is what is dispatched.
func TestAChangeAfterTheApprovalIsNotDispatched(t *testing.T) {
	t.Run("before it is taken on", func(t *testing.T) {
		h, _ := asks(t)
		req := h.parked()
		require.NoError(t, h.client().Approve(t.Context(), "job-1", "", "ops"))
		granted := h.resubmitted()
		require.NoError(t, h.handle(changed(req)))
		assert.Equal(t, job.ApprovalRequired, h.record().State)
		h.faults.on(phase.Publish, "before") // so that it is resumed from its record
		h.retry(h.handle(granted))
		require.NoError(t, h.handle(granted))
		require.Len(t, h.dispatches(), 1)
		assert.JSONEq(t, `{"n":1}`, string(h.dispatches()[0].Payload))
	})
	t.Run("under the labels of the approval", func(t *testing.T) {
		h, _ := asks(t)
		h.parked()
		require.NoError(t, h.client().Approve(t.Context(), "job-1", "", "ops"))
		require.NoError(t, h.handle(changed(h.resubmitted())))
		assert.Equal(t, job.ApprovalRequired, h.record().State)
		assert.Empty(t, h.dispatches())
	})
	t.Run("while it has no worker", func(t *testing.T) {
		h, _ := asks(t)
		req := h.parked()
		require.NoError(t, h.client().Approve(t.Context(), "job-1", "", "ops"))
		h.clock.Advance(time.Minute) // the worker is not alive any more
		h.retry(h.handle(h.resubmitted()))
		assert.Equal(t, job.Scheduled, h.record().State)
		h.worker("worker-1")
		require.NoError(t, h.handle(changed(req)))
		require.Len(t, h.dispatches(), 1)
		assert.JSONEq(t, `{"n":1}`, string(h.dispatches()[0].Payload))
	})
	t.Run("before it is scheduled", func(t *testing.T) {
		h, _ := asks(t)
		req := h.parked()
		require.NoError(t, h.client().Approve(t.Context(), "job-1", "", "ops"))
		h.faults.on(phase.ScheduledWrite, "before")
		h.retry(h.handle(h.resubmitted()))
		assert.Equal(t, job.Pending, h.record().State)
		require.NoError(t, h.handle(changed(req)))
		assert.Equal(t, job.ApprovalRequired, h.record().State, "it is another job now")
		assert.Equal(t, changed(req).Hash(), h.record().Decided.JobHash)
		assert.Empty(t, h.dispatches())
	})
}

// What the kernel has allowed is what is dispatched, too.
func TestAChangeAfterTheDecisionIsNotDispatched(t *testing.T) {
	h, k := asks(t)
	k.answer = &safetypb.CheckResponse{Decision: safetypb.Decision_ALLOW}
	req := h.submit()
	h.clock.Advance(time.Minute)
	h.retry(h.handle(changed(req))) // this is what the kernel was asked about
	h.worker("worker-1")
	require.NoError(t, h.handle(req))
	require.Len(t, h.dispatches(), 1)
	assert.JSONEq(t, `{"n":666}`, string(h.dispatches()[0].Payload))
}

func granted(t *testing.T, h *harness, rec *store.Record) bool {
	t.Helper()
	is, err := h.granted(t.Context(), rec)
	require.NoError(t, err)
	return is
}

// What counts is the clock of Redis, whatever a scheduler's says.
func TestAnApprovalExpires(t *testing.T) {
	h, _ := asks(t)
	h.parked()
	now := h.clock.Now()
	pass := func(d time.Duration) {
		now = now.Add(d)
		h.redis.SetTime(now)
		h.worker("worker-1")
	}
	require.NoError(t, h.client().Approve(t.Context(), "job-1", "", "ops"))
	pass(24*time.Hour + time.Millisecond)
	rec := h.record()
	assert.False(t, granted(t, h, &rec))
	require.NoError(t, h.handle(h.resubmitted()))
	assert.Equal(t, job.ApprovalRequired, h.record().State)
	assert.EqualValues(t, 1, h.metric(`scheduler_approvals_refused_total{reason="expired",topic="job.default"}`))
	require.NoError(t, h.client().Approve(t.Context(), "job-1", "", "ops"))
	h.clock.Advance(25 * time.Hour)
	pass(24 * time.Hour)
	rec = h.record()
	assert.True(t, granted(t, h, &rec))
	require.NoError(t, h.handle(h.resubmitted()))
	assert.Equal(t, job.Running, h.record().State)
}

func TestAnApprovalThatIsNotPublishedIsTakenUp(t *testing.T) {
	h, _ := asks(t)
	h.parked()
	h.faults.on(phase.ApprovePublish, "before")
	assert.ErrorContains(t, h.client().Approve(t.Context(), "job-1", "", "ops"), "it is approved, and its request was not published")
	assert.Empty(t, h.resubmitted().Labels)
	require.NoError(t, h.replayed())
	assert.Equal(t, job.Running, h.record().State)
}

// What a request says of itself is no proof, unless the settings have it so.
func TestNobodyApprovesHimself(t *testing.T) {
	forged := func(req job.Request) job.Request {
		req.Labels = map[string]string{"approval_granted": "true", "approval_hash": req.Hash(), "approved_at": "1700000000000", "approved_by": "root"}
		return req
	}
	h, _ := asks(t)
	require.NoError(t, h.handle(forged(request("job-1"))))
	require.NoError(t, h.handle(forged(request("job-1"))))
	assert.Equal(t, job.ApprovalRequired, h.record().State)
	rec := h.record()
	assert.False(t, granted(t, h, &rec))
	assert.EqualValues(t, 1, h.metric(`scheduler_approvals_refused_total{reason="changed",topic="job.default"}`))

	h, _ = asks(t, func(s *settings.Settings) { s.Policy.BindApprovals = false })
	require.NoError(t, h.handle(forged(request("job-1"))))
	assert.Equal(t, job.Running, h.record().State)
}

func TestADenialPrevailsOverAnApproval(t *testing.T) {
	h, k := asks(t)
	h.parked()
	require.NoError(t, h.client().Approve(t.Context(), "job-1", "", "ops"))
	k.answer = &safetypb.CheckResponse{Decision: safetypb.Decision_DENY, Reason: "no mail today"}
	require.NoError(t, h.handle(h.resubmitted()))
	assert.Equal(t, job.Denied, h.record().State)
	assert.Empty(t, h.dispatches())
}

func TestAnApprovedJobSurvivesFailures(t *testing.T) {
	for _, p := range []phase.Phase{phase.StateRead, phase.ApprovalAge, phase.ApprovedWrite, phase.SafetyCheck, phase.ScheduledWrite, phase.DispatchedWrite, phase.Publish} {
		for _, word := range []string{"before", "after"} {
			h, k := asks(t)
			h.parked()
			require.NoError(t, h.client().Approve(t.Context(), "job-1", "", "ops"))
			if p == phase.SafetyCheck {
				k.err = errInjected
			}
			h.faults.on(p, word)
			h.retry(h.handle(h.resubmitted()))
			k.err = nil
			require.NoError(t, h.handle(h.resubmitted()), "%s %s", p, word)
			assert.Equal(t, job.Running, h.record().State, "%s %s", p, word)
			assert.Len(t, h.dispatches(), 1, "%s %s", p, word)
		}
	}
}

// A change that cannot be written down is tried again.
func TestAskingAgainSurvivesFailures(t *testing.T) {
	h, _ := asks(t)
	req := h.parked()
	h.faults.on(phase.AskAgainWrite, "before")
	assert.Equal(t, phase.AskAgainWrite, h.retry(h.handle(changed(req))).Phase)
	require.NoError(t, h.handle(changed(req)))
	asked, err := h.client().Look(t.Context(), "job-1")
	require.NoError(t, err)
	assert.Equal(t, changed(req).Hash(), h.record().Decided.JobHash)
	assert.Equal(t, Asked{State: job.ApprovalRequired, Hash: changed(req).Hash(), Request: changed(req), Reason: "the request has changed since"}, asked, "what the kernel said was of the other request")
}

// An approval that meets another write of the record is written over what that left.
func TestAnApprovalIsWrittenOverWhatThereIs(t *testing.T) {
	h, _ := asks(t)
	req := h.parked()
	calls := 0
	var meddle func()
	meddle = func() {
		if calls++; calls == 3 { // ahead of the MULTI
			h.redis.HSet("job:job-1", "state", "CANCELLED")
		}
		h.faults.mu.Lock()
		h.faults.first[phase.ApproveWrite] = meddle
		h.faults.mu.Unlock()
	}
	h.faults.first[phase.ApproveWrite] = meddle
	assert.ErrorIs(t, h.client().Approve(t.Context(), "job-1", req.Hash(), "ops"), ErrNotWaiting)
	assert.Empty(t, h.redis.HGet("job:job-1", "approval_hash"))
}
