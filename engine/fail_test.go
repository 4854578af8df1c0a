package engine

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// Dead letters: 50 attempts, then FAILED and a DLQ entry.
func TestTheRetryCeiling(t *testing.T) {
	h := newHarness(t)
	req := h.submit()
	for attempt := 1; attempt < 50; attempt++ { // nobody can take it
		h.retry(h.handle(req))
		require.Equal(t, attempt, h.record().Attempts)
	}
	require.NoError(t, h.handle(req))
	rec := h.record()
	assert.Equal(t, job.Failed, rec.State)
	assert.Equal(t, 50, rec.Attempts)
	assert.Equal(t, "max_scheduling_retries", rec.ReasonCode)
	assert.Equal(t, dlq.Entry{
		JobID: "job-1", Topic: "job.default", Status: "FAILED", ReasonCode: "max_scheduling_retries", LastCause: "no_workers",
		Reason: "max scheduling retries exceeded (attempts=50)", Attempts: 50, IdempotencyKey: "key-job-1",
		ReplayStatus: "pending_review", CreatedAt: h.clock.Now().UnixMilli(),
	}, h.dlqEntry())
	assert.Equal(t, 30*24*time.Hour, h.redis.TTL("dlq:entry:job-1"))
	assert.EqualValues(t, 1, h.metric(`jobs_completed{status="FAILED",topic="job.default"}`))

	h.worker("worker-1")
	require.NoError(t, h.handle(req))
	assert.Empty(t, h.dispatches(), "over is over")
}

// A rollback at the ceiling would count one attempt too many.
func TestAPublishFailureAtTheCeilingEndsTheJob(t *testing.T) {
	for prior, want := range map[int]int{48: 50, 49: 50} {
		h := newHarness(t)
		h.worker("worker-1")
		req := h.submit()
		h.force(job.Scheduled, prior)
		h.faults.on(phase.Publish, "before", "before")
		err := h.handle(req)
		if prior == 48 { // SCHEDULED is the 49th, the rollback the 50th
			h.retry(err)
			assert.Equal(t, job.Scheduled, h.record().State)
			err = h.handle(req)
		}
		require.NoError(t, err)
		assert.Equal(t, job.Failed, h.record().State)
		assert.Equal(t, want, h.record().Attempts)
		assert.Equal(t, "max scheduling retries exceeded (attempts=50)", h.dlqEntry().Reason)
		assert.Equal(t, "dispatch_failed", h.dlqEntry().LastCause)
		assert.Equal(t, "max_scheduling_retries", h.dlqEntry().ReasonCode)
		assert.Equal(t, "max_scheduling_retries", h.record().ReasonCode)
		assert.Equal(t, 50, h.dlqEntry().Attempts)
		assert.Empty(t, h.dispatches())
		assert.EqualValues(t, 50-prior-1, h.metric(`scheduler_dispatch_rollback_total{topic="job.default"}`))
	}
}

func TestATopicWithoutAPoolFailsForGood(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	req := request("job-1")
	req.Topic = "job.unheard"
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Failed, h.record().State)
	assert.Equal(t, "no_pool_mapping", h.record().ReasonCode)
	e := h.dlqEntry()
	assert.Equal(t, "no_pool_mapping", e.ReasonCode)
	assert.Equal(t, 1, e.Attempts)
	assert.Equal(t, "key-job-1", e.IdempotencyKey)
	assert.Empty(t, h.dispatches())
}

func TestAFailedWriteThatFailsIsRetried(t *testing.T) {
	h := newHarness(t)
	req := h.submit()
	h.force(job.Scheduled, 50)
	h.faults.on(phase.FailedWrite, "before")
	r := h.retry(h.handle(req))
	assert.Equal(t, phase.FailedWrite, r.Phase)
	assert.Equal(t, "max_scheduling_retries", r.ReasonCode)
	assert.Equal(t, job.Scheduled, h.record().State)
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Failed, h.record().State)
	assert.Equal(t, 50, h.dlqEntry().Attempts)
}

// A worker may give any reason code, and each would be a series of its own for ever.
func TestAWorkersOwnWordIsNoLabel(t *testing.T) {
	for code, want := range map[string]string{"it broke at 12:00:01": "other", "timeout": "timeout"} {
		for _, p := range []phase.Phase{phase.ResultWrite, phase.DLQWrite} {
			h := newHarness(t)
			h.submit()
			h.force(job.Running, 1)
			h.faults.on(p, "before")
			err := h.HandleJobResult(t.Context(), job.Result{JobID: "job-1", WorkerID: "worker-1", Status: job.StatusFailed, ReasonCode: code})
			assert.Equal(t, p, h.retry(err).Phase)
			assert.EqualValues(t, 1, h.metric(`scheduler_retry_total{phase="`+string(p)+`",reason_code="`+want+`",topic="job.default"}`), code)
		}
	}
}

// Dead letters, known caveat: the terminal state stands, the redelivery sees it, the entry is lost.
func TestDLQEmitFailureDoesNotBlockStateTransition(t *testing.T) {
	h := newHarness(t)
	req := h.submit()
	h.force(job.Scheduled, 50)
	h.faults.on(phase.DLQWrite, "before")
	r := h.retry(h.handle(req))
	assert.Equal(t, phase.DLQWrite, r.Phase)
	assert.Equal(t, job.Failed, h.record().State)
	assert.True(t, h.logged("dlq write failed", "job-1"))
	assert.EqualValues(t, 1, h.metric(`scheduler_dlq_write_failed_total{topic="job.default"}`))

	require.NoError(t, h.handle(req))
	_, err := h.dlq.Get(t.Context(), "job-1")
	assert.ErrorIs(t, err, redis.Nil)
}

// In one MULTI there is no state without its entry.
func TestTheEntryAndFAILEDInOneMULTI(t *testing.T) {
	for _, word := range []string{"before", "after"} {
		h := newHarness(t, func(s *settings.Settings) { s.DLQOrder = settings.AtomicDLQ })
		req := h.submit()
		h.force(job.Scheduled, 50)
		h.faults.on(phase.FailedWrite, word)
		h.faults.on(phase.DLQWrite, "before") // which is no phase of it
		assert.Equal(t, phase.FailedWrite, h.retry(h.handle(req)).Phase)
		assert.Equal(t, word == "after", h.redis.Exists("dlq:entry:job-1"))
		assert.Equal(t, word == "after", h.record().State == job.Failed)
		require.NoError(t, h.handle(req))
		assert.Equal(t, job.Failed, h.record().State)
		assert.Equal(t, "max scheduling retries exceeded (attempts=50)", h.dlqEntry().Reason)
		assert.Equal(t, 50, h.dlqEntry().Attempts)
		score, err := h.redis.ZScore("dlq:index", "job-1")
		require.NoError(t, err)
		assert.Equal(t, float64(h.clock.Now().UnixMilli()), score)
	}
}

// With the entry first no FAILED is without one; but an entry may be of a job that is not FAILED yet.
func TestTheEntryBeforeFAILED(t *testing.T) {
	h := newHarness(t, func(s *settings.Settings) { s.DLQOrder = settings.DLQThenState })
	req := h.submit()
	h.force(job.Scheduled, 50)
	h.faults.on(phase.DLQWrite, "before")
	assert.Equal(t, phase.DLQWrite, h.retry(h.handle(req)).Phase)
	assert.Equal(t, job.Scheduled, h.record().State)
	assert.EqualValues(t, 1, h.metric(`scheduler_dlq_write_failed_total{topic="job.default"}`))

	h.faults.on(phase.FailedWrite, "before")
	assert.Equal(t, phase.FailedWrite, h.retry(h.handle(req)).Phase)
	assert.Equal(t, job.Scheduled, h.record().State)
	assert.Equal(t, "FAILED", h.dlqEntry().Status)

	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Failed, h.record().State)
	assert.EqualValues(t, 1, h.metric(`jobs_completed{status="FAILED",topic="job.default"}`))
}
