package engine

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

func TestAResultEndsTheJob(t *testing.T) {
	for _, from := range []job.State{job.Dispatched, job.Running} {
		for status, to := range map[job.Status]job.State{
			"SUCCEEDED": job.Succeeded, "FAILED": job.Failed, "FAILED_FATAL": job.Failed, "CANCELLED": job.Cancelled, "TIMEOUT": job.Timeout,
		} {
			h := newHarness(t)
			h.submit()
			h.force(from, 3)
			require.NoError(t, h.result(status))
			rec := h.record()
			assert.Equal(t, to, rec.State)
			assert.Equal(t, "because", rec.Reason)
			assert.Equal(t, "tool_error", rec.ReasonCode)
			assert.EqualValues(t, 1, h.metric(`jobs_completed{status="`+string(to)+`",topic="job.default"}`))
			h.unlocked()
			if to != job.Failed {
				_, err := h.dlq.Get(t.Context(), "job-1")
				assert.ErrorIs(t, err, redis.Nil, "only a failure goes to the DLQ")
				continue
			}
			e := h.dlqEntry()
			assert.Equal(t, "tool_error", e.ReasonCode)
			assert.Equal(t, "because", e.Reason)
			assert.Equal(t, 3, e.Attempts)
			assert.Equal(t, "key-job-1", e.IdempotencyKey)
		}
	}
}

func TestAFailureWithoutAReasonCodeIsADispatchFailure(t *testing.T) {
	for _, status := range []job.Status{job.StatusFailed, job.StatusFailedFatal} {
		h := newHarness(t)
		h.submit()
		h.force(job.Running, 1)
		h.redis.HSet("job:job-1", "request", "not JSON") // the entry is written all the same
		require.NoError(t, h.HandleJobResult(t.Context(), job.Result{JobID: "job-1", Status: status}))
		assert.Equal(t, "dispatch_failed", h.record().ReasonCode, status)
		assert.Equal(t, "dispatch_failed", h.dlqEntry().ReasonCode, status)
	}
}

func TestAResultOfAJobThatIsOverIsIgnored(t *testing.T) {
	for _, s := range job.States {
		if !s.Terminal() {
			continue
		}
		h := newHarness(t)
		h.submit()
		h.force(s, 1)
		before := h.redis.Dump()
		require.NoError(t, h.result(job.StatusFailed))
		assert.Equal(t, before, h.redis.Dump(), s)
		assert.NotContains(t, h.logs.String(), `"job_id":"job-1"`, "without a word")
	}
}

func TestAResultAheadOfTheStateIsRetried(t *testing.T) {
	for _, s := range []job.State{job.Pending, job.ApprovalRequired, job.Scheduled} {
		h := newHarness(t)
		h.submit()
		h.force(s, 1)
		r := h.retry(h.result(job.StatusSucceeded))
		assert.Equal(t, phase.ResultWrite, r.Phase)
		assert.Equal(t, time.Second, r.Delay)
		assert.Equal(t, s, h.record().State)
	}
}

func TestAResultOfAnAbsentJobIsRetried(t *testing.T) {
	h := newHarness(t)
	r := h.retry(h.result(job.StatusSucceeded))
	assert.Equal(t, phase.StateRead, r.Phase)
	assert.ErrorIs(t, r, redis.Nil)
	assert.Empty(t, h.redis.Keys())
}

func TestAResultFailsClosedToo(t *testing.T) {
	h := newHarness(t, func(s *settings.Settings) { s.ReadError = settings.FailOpen }) // which is about requests
	h.submit()
	h.force(job.Running, 1)
	h.faults.on(phase.StateRead, "before")
	r := h.retry(h.result(job.StatusSucceeded))
	assert.Equal(t, phase.StateRead, r.Phase)
	assert.True(t, h.logged("state read failed, failing closed"))
	assert.EqualValues(t, 1, h.metric(`scheduler_state_read_fail_closed_total{topic="unknown"}`))
	require.NoError(t, h.result(job.StatusSucceeded))
	assert.Equal(t, job.Succeeded, h.record().State)
}

func TestAFailedResultWriteIsRetried(t *testing.T) {
	for _, status := range []job.Status{job.StatusSucceeded, job.StatusFailed} {
		h := newHarness(t)
		h.submit()
		h.force(job.Running, 1)
		h.faults.on(phase.ResultWrite, "before")
		r := h.retry(h.result(status))
		assert.Equal(t, phase.ResultWrite, r.Phase)
		assert.Equal(t, job.Running, h.record().State)
		assert.EqualValues(t, 1, h.metric(`scheduler_retry_total{phase="result_write",reason_code="`+r.ReasonCode+`",topic="job.default"}`))
		require.NoError(t, h.result(status))
		assert.Equal(t, status.State(), h.record().State)
	}
}

// Its dispatch was given up for another, which the job waits for.
func TestAResultOfAnOlderEpochIsIgnored(t *testing.T) {
	for _, refuse := range []bool{true, false} {
		h := newHardened(t, func(s *settings.Settings) { s.RefuseStaleResults = refuse })
		h.submit()
		h.force(job.Running, 1)
		h.redis.HSet("job:job-1", "epoch", "2")
		result := func(epoch int64) error {
			return h.HandleJobResult(t.Context(), job.Result{JobID: "job-1", WorkerID: "worker-1", Status: job.StatusSucceeded, Epoch: epoch})
		}
		require.NoError(t, result(1))
		if !refuse {
			assert.Equal(t, job.Succeeded, h.record().State)
			continue
		}
		assert.Equal(t, job.Running, h.record().State)
		assert.EqualValues(t, 1, h.metric(`scheduler_stale_results_total{topic="job.default"}`))
		assert.True(t, h.logged("stale result ignored", "job-1"))
		require.NoError(t, result(2))
		assert.Equal(t, job.Succeeded, h.record().State)
	}
}

// A worker may say the epoch in the header alone.
func TestAResultsEpochIsInItsHeaderToo(t *testing.T) {
	h := newHardened(t, func(s *settings.Settings) { s.RetryDelayBusy = time.Millisecond }) // it may meet the request's lock
	stop := h.run()
	h.submit()
	h.logs.await("job dispatched")
	h.send("sys.job.result", job.Result{JobID: "job-1", WorkerID: "worker-1", Status: job.StatusSucceeded},
		nats.Header{"Job-Id": {"job-1"}, "Job-Epoch": {"1"}})
	h.logs.await("job completed")
	require.NoError(t, stop())
	assert.Equal(t, job.Succeeded, h.record().State)
}
