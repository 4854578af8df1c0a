package engine

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// decided leaves job-1 DISPATCHED, and a void in its dispatch's place whose author got no further.
func (h *harness) decided(end job.State) (req job.Request) {
	h.t.Helper()
	req = h.submit()
	h.faults.on(phase.Publish, "before")
	h.retry(h.handle(req))
	rec := h.record()
	_, worker, err := h.void(h.t.Context(), &rec, job.Void{End: end, Reason: "decided"})
	require.NoError(h.t, err)
	require.Empty(h.t, worker)
	return req
}

// Whoever decides a job's end may die before it is written; the void says what it was.
func TestAVoidCarriesWhatWasDecided(t *testing.T) {
	for end, code := range map[job.State]string{job.Cancelled: "cancelled", job.Timeout: "timeout"} {
		for name, meet := range map[string]func(h *harness, req job.Request) error{
			"redelivery": func(h *harness, req job.Request) error { return h.handle(req) },
			"resumption": func(h *harness, _ job.Request) error { return h.resume(h.t.Context(), "job-1") },
			"cancel":     func(h *harness, _ job.Request) error { return h.cancel() },
			"reconciler": func(h *harness, _ job.Request) error {
				h.clock.Advance(h.settings.DispatchTimeout)
				return h.reconcile()
			},
			"resumption after its worker's death": func(h *harness, _ job.Request) error {
				h.clock.Advance(h.settings.WorkerTTL * 2)
				return h.resume(h.t.Context(), "job-1")
			},
		} {
			h := newHardened(t)
			req := h.decided(end)
			require.NoError(t, meet(h, req), name)
			rec := h.record()
			assert.Equal(t, end, rec.State, name)
			assert.Equal(t, code, rec.ReasonCode, name)
			assert.Equal(t, "decided", rec.Reason, name)
			assert.Len(t, h.voids(), 1, name)
			assert.Empty(t, h.dispatched(), name)
			assert.EqualValues(t, 1, h.metric(`jobs_completed{status="`+string(end)+`",topic="job.default"}`), name)

			told := len(h.notices())
			require.NoError(t, h.cancel())
			assert.Equal(t, end, h.record().State, name)
			if end == job.Cancelled {
				assert.Equal(t, told+1, len(h.notices()), "%s: the redelivered cancellation sends it (again)", name)
			} else {
				assert.Empty(t, h.notices(), name)
			}
		}
	}
}

// dispatched are the messages of the stream that a worker would carry out.
func (h *harness) dispatched() (out []job.Dispatch) {
	for _, m := range h.stored() {
		if m.Header.Get(job.HeaderVoid) == "" && m.Subject == "worker.worker-1.jobs.job-1.1" {
			var d job.Dispatch
			require.NoError(h.t, json.Unmarshal(m.Data, &d))
			out = append(out, d)
		}
	}
	return out
}

// A job that was only to go to another worker can end instead.
func TestAVoidThatEndsNothingDoesNotKeepTheJob(t *testing.T) {
	h := newHardened(t)
	h.decided(job.Scheduled)
	require.NoError(t, h.cancel())
	assert.Equal(t, job.Cancelled, h.record().State)
	assert.Equal(t, "changed my mind", h.record().Reason)

	for again, want := range map[bool]job.State{true: job.Scheduled, false: job.Timeout} {
		h = newHardened(t, func(s *settings.Settings) { s.RetryUnpublished = again })
		h.decided(job.Scheduled)
		h.clock.Advance(h.settings.DispatchTimeout)
		require.NoError(t, h.reconcile())
		assert.Equal(t, want, h.record().State)
	}
}

// A holder that stood still for longer than its lock lives tells nobody anything; another has the job.
func TestAVoidIsFenced(t *testing.T) {
	for fence, stored := range map[bool]int{true: 0, false: 1} {
		h := newHardened(t, func(s *settings.Settings) { s.Fence, s.LockRenewal = fence, false })
		h.submit()
		h.intended("worker-1")
		err := h.withJobLock(t.Context(), "job-1", func(ctx context.Context) error {
			h.clock.Advance(h.settings.JobLockTTL)
			rec := h.record()
			_, _, err := h.void(ctx, &rec, job.Void{End: job.Cancelled})
			return err
		})
		assert.Len(t, h.voids(), stored)
		if fence {
			require.ErrorIs(t, err, store.ErrFenced)
			assert.Equal(t, h.settings.RetryDelayBusy, h.retry(err).Delay)
		}
	}
}

func TestACancelNoticeIsFenced(t *testing.T) {
	h := newHardened(t, func(s *settings.Settings) { s.LockRenewal = false })
	h.submit()
	h.force(job.Cancelled, 1)
	h.redis.HSet("job:job-1", "worker", "worker-1", "epoch", "1")
	h.faults.first[phase.StateRead] = func() { h.clock.Advance(h.settings.JobLockTTL) }
	assert.Equal(t, phase.CancelNotice, h.retry(h.cancel()).Phase)
	assert.Empty(t, h.notices())
	require.NoError(t, h.cancel())
	assert.Len(t, h.notices(), 1)
}

// A handling that was overtaken while it published comes back to pick again.
func TestAHandlingMeetsTheVoidOfAPickAgain(t *testing.T) {
	h := newHardened(t)
	req := h.submit()
	h.faults.first[phase.Publish] = func() {
		rec := h.record()
		_, _, err := h.void(t.Context(), &rec, job.Void{End: job.Scheduled})
		require.NoError(t, err)
	}
	r := h.retry(h.handle(req))
	assert.Equal(t, h.settings.RetryDelayBusy, r.Delay)
	h.retry(h.handle(req)) // rolled back
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Running, h.record().State)
	assert.EqualValues(t, 2, h.record().Epoch)
}

// A stream that takes no void does not keep a job from its end.
func TestARefusedVoidDoesNotKeepAJobFromItsEnd(t *testing.T) {
	for end, act := range map[job.State]func(h *harness) error{
		job.Cancelled: (*harness).cancel,
		job.Timeout: func(h *harness) error {
			h.clock.Advance(h.settings.DispatchTimeout)
			return h.reconcile()
		},
	} {
		h := newHardened(t)
		req := h.submit()
		h.faults.on(phase.Publish, "before")
		h.retry(h.handle(req))
		h.faults.on(phase.VoidPublish, "refused", "refused", "refused", "refused")
		h.faults.on(phase.PublishRead, "before")
		assert.Equal(t, phase.PublishRead, h.retry(act(h)).Phase, "what the stream holds must be known")
		require.NoError(t, act(h))
		assert.Equal(t, end, h.record().State)
		assert.Empty(t, h.voids())
		assert.True(t, h.logged("dispatch cannot be voided", `"level":"WARN"`))
		assert.Zero(t, h.metric(`scheduler_intents_voided_total{topic="job.default"}`))
	}
}

func TestARefusedVoidOfADispatchThatIsStored(t *testing.T) {
	h := newHardened(t)
	req := h.submit()
	h.faults.on(phase.Publish, "after")
	h.retry(h.handle(req))
	h.faults.on(phase.VoidPublish, "refused")
	h.clock.Advance(h.settings.DispatchTimeout)
	require.NoError(t, h.reconcile())
	assert.Equal(t, job.Running, h.record().State)
}
