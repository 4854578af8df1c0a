package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// A holder that overstayed its lock changes nothing, wherever it was held up.
func TestAHandlingThatOverstayedItsLockChangesNothing(t *testing.T) {
	for _, c := range []struct {
		phase      phase.Phase
		state      job.State // which stays
		dispatches int
	}{
		{phase.PendingWrite, job.Absent, 0},
		{phase.ScheduledWrite, job.Pending, 0},
		{phase.DispatchedWrite, job.Scheduled, 0},
		{phase.RunningWrite, job.Dispatched, 1},
	} {
		h := newHardened(t)
		req := request("job-1")
		if c.phase != phase.PendingWrite {
			h.submit()
		}
		h.faults.first[c.phase] = h.take
		r := h.retry(h.handle(req))
		assert.Equal(t, c.phase, r.Phase)
		assert.ErrorIs(t, r, store.ErrFenced)
		assert.Equal(t, 500*time.Millisecond, r.Delay, "another is at it")
		assert.Equal(t, string(c.state), h.redis.HGet("job:job-1", "state"))
		assert.Len(t, h.dispatches(), c.dispatches)
		if c.phase != phase.PendingWrite {
			assert.EqualValues(t, 1, h.metric(`scheduler_fenced_writes_total{phase="`+string(c.phase)+`",topic="job.default"}`))
		}
		owner, err := h.redis.Get("cordum:scheduler:job:job-1")
		assert.NoError(t, err)
		assert.Equal(t, "another", owner)

		h.redis.Del("cordum:scheduler:job:job-1")
		assert.NoError(t, h.handle(req))
		assert.Equal(t, job.Running, h.record().State)
		assert.Len(t, h.dispatches(), 1)
	}
}

func TestWithoutAFenceItChangesWhatItLikes(t *testing.T) {
	h := newHardened(t, func(s *settings.Settings) { s.Fence = false })
	req := h.submit()
	h.faults.first[phase.ScheduledWrite] = h.take
	assert.NoError(t, h.handle(req))
	assert.Equal(t, job.Running, h.record().State)
}

// A publish is no state write: what stops a late one is its epoch's place in the stream.
func TestALatePublishAfterTheJobsEnd(t *testing.T) {
	h := newHardened(t)
	req := h.submit()
	h.faults.first[phase.Publish] = func() { // paused past its lock's TTL; meanwhile the job is cancelled
		h.redis.Del("cordum:scheduler:job:job-1")
		assert.NoError(t, h.HandleJobCancel(t.Context(), job.Cancel{JobID: "job-1"}))
	}
	assert.NoError(t, h.handle(req))
	assert.Equal(t, job.Cancelled, h.record().State)
	assert.Len(t, h.voids(), 1)
	assert.Len(t, h.stored(), 2, "the void and the notice")
}

// Results, failures and rollbacks are fenced alike.
func TestTheOtherWritesAreFencedToo(t *testing.T) {
	h := newHardened(t)
	req := h.submit()
	h.faults.on(phase.Publish, "refused")
	h.faults.first[phase.RollbackWrite] = h.take
	assert.ErrorIs(t, h.retry(h.handle(req)), store.ErrFenced)
	assert.Equal(t, job.Dispatched, h.record().State)
	h.redis.Del("cordum:scheduler:job:job-1")

	for _, status := range []job.Status{job.StatusSucceeded, job.StatusFailed} {
		h.faults.first[phase.ResultWrite] = h.take
		r := h.retry(h.HandleJobResult(t.Context(), job.Result{JobID: "job-1", Status: status, Epoch: 1}))
		assert.ErrorIs(t, r, store.ErrFenced)
		assert.Equal(t, 500*time.Millisecond, r.Delay)
		assert.Equal(t, job.Dispatched, h.record().State)
		assert.False(t, h.redis.Exists("dlq:entry:job-1"))
		h.redis.Del("cordum:scheduler:job:job-1")
	}
	h.faults.first[phase.CancelWrite] = h.take
	assert.ErrorIs(t, h.retry(h.HandleJobCancel(t.Context(), job.Cancel{JobID: "job-1"})), store.ErrFenced)
	assert.Equal(t, job.Dispatched, h.record().State)
}

// Going on without a state is not going over one.
func TestTheFenceTakesTheHarmFromFailOpen(t *testing.T) {
	for _, policy := range []settings.ReadError{settings.FailOpen, settings.CachedState} {
		h := newHardened(t, func(s *settings.Settings) { s.ReadError = policy })
		req := h.submit()
		if policy == settings.CachedState {
			_ = h.record() // remembered as PENDING
		}
		h.force(job.Running, 1) // by another replica
		h.faults.on(phase.StateRead, "before")
		assert.ErrorIs(t, h.retry(h.handle(req)), store.ErrFenced)
		assert.Equal(t, job.Running, h.record().State)
		assert.Empty(t, h.dispatches())
	}
}
