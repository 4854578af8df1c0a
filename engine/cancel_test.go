package engine

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

func (h *harness) cancel() error {
	return h.HandleJobCancel(h.t.Context(), job.Cancel{JobID: "job-1", Reason: "changed my mind"})
}

// voids are the messages that stand in a dispatch's place.
func (h *harness) voids() (out []*jetstream.RawStreamMsg) {
	for _, m := range h.stored() {
		if m.Header.Get("Job-Void") == "1" {
			out = append(out, m)
		}
	}
	return out
}

// notices are what workers were told of cancelled jobs.
func (h *harness) notices() (out []*jetstream.RawStreamMsg) {
	for _, m := range h.stored() {
		if m.Subject == bus.CancelSubject("worker-1") {
			out = append(out, m)
		}
	}
	return out
}

func TestCancelEndsAJobThatIsNotOver(t *testing.T) {
	for _, s := range []job.State{job.Pending, job.ApprovalRequired, job.Scheduled, job.Dispatched, job.Running} {
		h := newHarness(t)
		h.submit()
		h.force(s, 1)
		require.NoError(t, h.cancel())
		rec := h.record()
		assert.Equal(t, job.Cancelled, rec.State)
		assert.Equal(t, "cancelled", rec.ReasonCode)
		assert.Equal(t, "changed my mind", rec.Reason)
		assert.EqualValues(t, 1, h.metric(`jobs_completed{status="CANCELLED",topic="job.default"}`))
		assert.Empty(t, h.stored(), "documented: nobody is told")
		h.unlocked()
	}
}

func TestCancelOfAJobThatIsOverIsANoOp(t *testing.T) {
	for _, s := range job.States {
		if !s.Terminal() {
			continue
		}
		h := newHardened(t)
		h.submit()
		h.force(s, 1)
		before := h.redis.Dump()
		require.NoError(t, h.cancel())
		assert.Equal(t, before, h.redis.Dump(), s)
		assert.Empty(t, h.stored(), s)
	}
}

func TestACancelAheadOfItsJobIsRetried(t *testing.T) {
	h := newHarness(t)
	r := h.retry(h.cancel())
	assert.Equal(t, phase.StateRead, r.Phase)
	assert.Equal(t, time.Second, r.Delay)
	h.faults.on(phase.StateRead, "before")
	assert.ErrorIs(t, h.retry(h.cancel()), errInjected)
	assert.EqualValues(t, 1, h.metric(`scheduler_state_read_fail_closed_total{topic="unknown"}`))
	assert.Empty(t, h.redis.Keys())
}

// Its job is cancelled once its request comes, whoever stores the record, and nothing else is kept of it.
func TestACancelAheadOfItsJobIsKept(t *testing.T) {
	for _, submitted := range []bool{true, false} {
		h := newHardened(t)
		h.worker("worker-1")
		for range 2 {
			assert.Equal(t, phase.StateRead, h.retry(h.cancel()).Phase)
		}
		assert.Equal(t, []string{"job:job-1"}, h.redis.Keys())
		require.Error(t, h.result(job.StatusSucceeded), "the job has no record still")

		req := job.Request{JobID: "job-1", Topic: "job.default"}
		if submitted {
			req = h.submit()
		}
		require.NoError(t, h.handle(req))
		rec := h.record()
		assert.Equal(t, job.Cancelled, rec.State)
		assert.Equal(t, "changed my mind", rec.Reason)
		assert.Equal(t, 0, rec.Attempts)
		assert.EqualValues(t, 1, h.metric(`jobs_completed{status="CANCELLED",topic="job.default"}`))
		assert.Empty(t, h.stored())
		require.NoError(t, h.cancel(), "it comes again")
		h.unlocked()
	}
}

func TestACancelThatMakesNoSenseIsPoison(t *testing.T) {
	h := newHarness(t)
	var poison *bus.Poison
	require.ErrorAs(t, h.HandleJobCancel(t.Context(), job.Cancel{}), &poison)
	assert.Equal(t, "schema_invalid", poison.ReasonCode)

	stop := h.run()
	h.send(bus.SubjectCancel, []byte("{"), nats.Header{"Job-Id": {"job-1"}})
	h.logs.await("message terminated")
	require.NoError(t, stop())
	e, err := h.dlq.Get(t.Context(), "CORDUM_SYS:1")
	require.NoError(t, err)
	assert.Equal(t, "parse_error", e.ReasonCode)
	assert.Equal(t, "sys.job.cancel", e.Topic)
}

func TestTheWorkerOfACancelledJobIsTold(t *testing.T) {
	h := newHardened(t)
	require.NoError(t, h.handle(h.submit()))
	h.faults.on(phase.CancelNotice, "before", "after")
	assert.Equal(t, phase.CancelNotice, h.retry(h.cancel()).Phase)
	assert.Equal(t, job.Cancelled, h.record().State)
	for range 2 { // until it is certain, and then again: a notice may be repeated
		_ = h.cancel()
	}
	require.Len(t, h.notices(), 2)
	for _, m := range h.notices() {
		var c job.Cancel
		require.NoError(t, json.Unmarshal(m.Data, &c))
		assert.Equal(t, job.Cancel{JobID: "job-1", Reason: "changed my mind", Epoch: 1}, c)
		assert.Equal(t, "job-1", m.Header.Get("Job-Id"))
		assert.Equal(t, "1", m.Header.Get("Job-Epoch"))
	}
	assert.Empty(t, h.voids(), "a job that runs has been dispatched")
	assert.EqualValues(t, 1, h.metric(`jobs_completed{status="CANCELLED",topic="job.default"}`))
}

// WEAKNESSES: cancel arrives between DISPATCHED and publish.
func TestAJobThatIsCancelledBeforeItsPublishIsNotDispatched(t *testing.T) {
	h := newHardened(t)
	req := h.submit()
	h.faults.on(phase.Publish, "before")
	h.retry(h.handle(req))
	require.NoError(t, h.cancel())
	require.Len(t, h.voids(), 1)
	void := h.voids()[0]
	assert.Equal(t, "worker.worker-1.jobs.job-1.1", void.Subject)
	assert.Equal(t, "job-1", void.Header.Get("Job-Id"))
	assert.Equal(t, "1", void.Header.Get("Job-Epoch"))
	assert.EqualValues(t, 1, h.metric(`scheduler_intents_voided_total{topic="job.default"}`))
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Cancelled, h.record().State)
	assert.Len(t, h.stored(), 2, "the void and the notice")
}

// In publish-first order a SCHEDULED job may have been dispatched, or be about to be.
func TestACancelFindsWhatWasPublishedFirst(t *testing.T) {
	first := func(s *settings.Settings) { s.DispatchOrder = settings.PublishFirst }
	h := newHardened(t, first)
	req := h.submit()
	h.faults.on(phase.DispatchedWrite, "before", "ok", "before") // of the request, and of its cancellation
	h.retry(h.handle(req))
	h.faults.on(phase.VoidPublish, "before")
	assert.Equal(t, phase.VoidPublish, h.retry(h.cancel()).Phase)
	for h.record().State != job.Cancelled {
		_ = h.cancel()
	}
	assert.Equal(t, "worker-1", h.record().Worker)
	assert.EqualValues(t, 1, h.record().Epoch)
	require.Len(t, h.notices(), 1)
	assert.Equal(t, "1", h.notices()[0].Header.Get("Job-Epoch"))
	assert.Empty(t, h.voids())

	h = newHardened(t, first)
	req = h.submit()
	h.faults.on(phase.Publish, "before")
	h.retry(h.handle(req))
	h.faults.on(phase.CancelWrite, "before")
	h.retry(h.cancel())
	require.Len(t, h.voids(), 1)
	assert.Equal(t, "worker.-.jobs.job-1.1", h.voids()[0].Subject)
	require.NoError(t, h.handle(req), "who meets the void writes what it says")
	assert.Equal(t, job.Cancelled, h.record().State)
	assert.Equal(t, "changed my mind", h.record().Reason)
	assert.Len(t, h.stored(), 1)

	h = newHardened(t, first, func(s *settings.Settings) { s.VoidIntents = false })
	req = h.submit()
	h.faults.on(phase.DispatchedWrite, "before")
	h.retry(h.handle(req))
	require.NoError(t, h.cancel())
	assert.Empty(t, h.notices())
}

func TestAJobThatIsCancelledAfterItsPublishIsNotVoided(t *testing.T) {
	h := newHardened(t)
	req := h.submit()
	h.stands("worker-2", false) // by a publish that nobody heard of
	h.faults.on(phase.Publish, "before")
	h.retry(h.handle(req))
	require.NoError(t, h.cancel())
	assert.Equal(t, job.Cancelled, h.record().State)
	assert.Equal(t, "worker-2", h.record().Worker)
	assert.Empty(t, h.voids())
	assert.Equal(t, "worker.worker-2.cancel", h.stored()[1].Subject, "who has it is told")
	assert.Zero(t, h.metric(`scheduler_intents_voided_total{topic="job.default"}`))
}

// Wherever it breaks off, the redelivery goes on.
func TestACancelThatBreaksOffIsTakenUpAgain(t *testing.T) {
	for _, p := range []phase.Phase{phase.LockAcquire, phase.StateRead, phase.VoidPublish, phase.PublishRead, phase.CancelWrite, phase.CancelNotice} {
		for _, word := range []string{"before", "after"} {
			h := newHardened(t)
			req := h.submit()
			h.faults.on(phase.Publish, "before")
			h.retry(h.handle(req))
			if p == phase.PublishRead {
				h.faults.on(phase.VoidPublish, "after")
				h.retry(h.cancel())
			}
			h.faults.on(p, word)
			r := h.retry(h.cancel())
			assert.Equal(t, p, r.Phase)
			if p == phase.CancelNotice || p == phase.VoidPublish {
				assert.Equal(t, 2*time.Second, r.Delay)
			}
			h.redis.Del("cordum:scheduler:job:job-1") // an acquisition that was applied
			require.NoError(t, h.cancel(), "%s %s", p, word)
			require.NoError(t, h.handle(req))
			assert.Equal(t, job.Cancelled, h.record().State)
			assert.Len(t, h.voids(), 1)
			assert.NotEmpty(t, h.notices())
			assert.Len(t, h.stored(), 1+len(h.notices()), "nothing is dispatched")
		}
	}
}

func TestVoidsAndNoticesAreSettings(t *testing.T) {
	h := newHardened(t, func(s *settings.Settings) { s.VoidIntents, s.CancelNotice = false, false })
	h.faults.on(phase.Publish, "before")
	h.retry(h.handle(h.submit()))
	require.NoError(t, h.cancel())
	assert.Equal(t, job.Cancelled, h.record().State)
	assert.Empty(t, h.stored())
}

func TestTheClientCancels(t *testing.T) {
	h := newHarness(t, func(s *settings.Settings) { s.RetryDelayBusy = time.Millisecond }) // it may meet the request's lock
	stop := h.run()
	h.submit()
	require.NoError(t, newClient(h).Cancel(t.Context(), "job-1", "changed my mind"))
	h.logs.await("job cancelled")
	require.NoError(t, stop())
	assert.Equal(t, job.Cancelled, h.record().State)

	assert.ErrorContains(t, newClient(h).Cancel(t.Context(), "job 1", ""), "one token")
	h.faults.on(phase.CancelPublish, "before")
	assert.ErrorIs(t, newClient(h).Cancel(t.Context(), "job-1", ""), errInjected)
}
