package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/faultline-sim/faultline/engine/job"
	"github.com/faultline-sim/faultline/engine/phase"
)

// What the replayer does with a job that stays DISPATCHED, its message being lost or away.
func TestResume(t *testing.T) {
	h := newHardened(t)
	h.faults.on(phase.Publish, "before")
	h.retry(h.handle(h.submit()))
	require.NoError(t, h.resume(t.Context(), "job-1"))
	assert.Equal(t, job.Running, h.record().State)
	assert.Len(t, h.dispatches(), 1)
	assert.Equal(t, "key-job-1", h.dispatches()[0].IdempotencyKey, "the record keeps the request")
	assert.EqualValues(t, 1, h.metric(`scheduler_intents_resumed_total{topic="job.default"}`))
	h.unlocked()
}

func TestResumeLeavesAloneWhatHasMovedOn(t *testing.T) {
	for _, s := range job.States {
		if s == job.Dispatched {
			continue
		}
		h := newHardened(t)
		h.submit()
		h.force(s, 1)
		before := h.redis.Dump()
		require.NoError(t, h.resume(t.Context(), "job-1"))
		assert.Equal(t, before, h.redis.Dump(), s)
		assert.Empty(t, h.stored(), s)
	}
	h := newHardened(t)
	require.NoError(t, h.resume(t.Context(), "job-1"), "a job without a record")
}

func TestResumeIsASettingAndNotTheOutboxs(t *testing.T) {
	for _, change := range []func(*Settings){
		func(s *Settings) { s.ResumeIntents = false },
		func(s *Settings) { s.DispatchOrder = Outbox },
	} {
		h := newHardened(t, change)
		h.submit()
		h.force(job.Dispatched, 1)
		require.NoError(t, h.resume(t.Context(), "job-1"))
		assert.Empty(t, h.stored())
	}
}

func TestResumeFailsClosed(t *testing.T) {
	h := newHardened(t)
	h.submit()
	h.force(job.Dispatched, 1)
	h.faults.on(phase.StateRead, "before")
	assert.Equal(t, phase.StateRead, h.retry(h.resume(t.Context(), "job-1")).Phase)
	assert.Empty(t, h.stored())

	h.redis.HSet("job:job-1", "request", "not JSON")
	assert.Equal(t, "dispatch_failed", h.retry(h.resume(t.Context(), "job-1")).ReasonCode)
	assert.Empty(t, h.stored())
}

// The cache's word is no ground to publish on.
func TestACachedIntentIsNotResumed(t *testing.T) {
	h := newHardened(t, func(s *Settings) { s.ReadError = CachedState })
	req := h.submit()
	h.faults.on(phase.Publish, "before")
	h.retry(h.handle(req))
	h.faults.on(phase.StateRead, "before")
	require.NoError(t, h.handle(req))
	assert.Empty(t, h.stored())
	require.NoError(t, h.resume(t.Context(), "job-1"), "the replayer takes it up")
	assert.Len(t, h.dispatches(), 1)
}
