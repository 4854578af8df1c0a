package engine

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

func TestAJobGoesToAWorker(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	req := h.submit()
	assert.Equal(t, job.Pending, h.record().State)
	h.faults.calls = nil
	require.NoError(t, h.handle(req))

	rec := h.record()
	assert.Equal(t, job.Running, rec.State)
	assert.Equal(t, 1, rec.Attempts)
	assert.Equal(t, "worker-1", rec.Worker)
	assert.Equal(t, []job.Dispatch{{
		JobID: "job-1", Topic: "job.default", WorkerID: "worker-1", Attempt: 1,
		IdempotencyKey: "key-job-1", Payload: []byte(`{"n":1}`), TraceID: "trace",
	}}, h.dispatches())
	assert.Equal(t, "worker.worker-1.jobs", h.stored()[0].Subject)
	h.unlocked()

	assert.Equal(t, []string{ // every round trip of a handling, with its phase
		"lock_acquire set", "state_read hgetall", "scheduled_write multi", "dispatched_write multi", "publish publish", "running_write multi",
		"lock_release watch", "lock_release get", "lock_release multi", " hgetall", // the last is the test's own
	}, h.faults.calls)
	assert.EqualValues(t, 1, h.metric(`jobs_received{topic="job.default"}`))
	assert.EqualValues(t, 1, h.metric(`jobs_dispatched{topic="job.default"}`))
	assert.EqualValues(t, 1, h.metric(`dispatch_latency{topic="job.default"}`))
	assert.EqualValues(t, 1, h.metric(`job_lock_wait`))
}

func TestARedeliveryOfAJobInFlightOrOverIsANoOp(t *testing.T) {
	for _, s := range job.States {
		if s == job.Pending || s == job.Scheduled {
			continue
		}
		h := newHarness(t)
		h.worker("worker-1")
		req := h.submit()
		h.force(s, 1)
		before := h.redis.Dump()
		require.NoError(t, h.handle(req), s)
		assert.Equal(t, before, h.redis.Dump(), s)
		assert.Empty(t, h.dispatches(), s)
		assert.Zero(t, h.metric(`jobs_completed{status="`+string(s)+`",topic="job.default"}`), s)
	}
}

func TestAPreferredWorkersOwnSubject(t *testing.T) {
	for _, epochs := range []bool{false, true} {
		h := newHarness(t, func(s *settings.Settings) { s.Epochs = epochs })
		h.worker("worker-1")
		h.worker("worker-2")
		req := request("job-1")
		req.Labels = map[string]string{job.LabelPreferredWorker: "worker-2"}
		require.NoError(t, h.client().Submit(t.Context(), req))
		require.NoError(t, h.handle(req))
		want := "worker.worker-2.jobs"
		if epochs {
			want += ".job-1.1"
		}
		assert.Equal(t, want, h.stored()[0].Subject)
		assert.Equal(t, "worker-2", h.record().Worker)
	}
}

func TestAPreferredWorkerIsPreferredByEachAttempt(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	h.worker("worker-2")
	req := request("job-1")
	req.Labels = map[string]string{job.LabelPreferredWorker: "worker-2"}
	require.NoError(t, h.client().Submit(t.Context(), req))
	h.faults.on(phase.Publish, "before", "before")
	h.retry(h.handle(req))
	h.retry(h.handle(req))
	require.NoError(t, h.handle(req))
	assert.Equal(t, "worker.worker-2.jobs", h.stored()[0].Subject)
}

func TestAJobWithoutARecordIsTakenIn(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	require.NoError(t, h.handle(request("job-1")))
	rec := h.record()
	assert.Equal(t, job.Running, rec.State)
	assert.Equal(t, 1, rec.Attempts)
	assert.Equal(t, "job.default", rec.Topic)
	req, err := rec.Request()
	require.NoError(t, err)
	assert.Equal(t, request("job-1"), req)
	assert.Len(t, h.dispatches(), 1)
}

func TestARequestThatMakesNoSenseIsPoison(t *testing.T) {
	h := newHarness(t)
	var poison *bus.Poison
	require.ErrorAs(t, h.handle(job.Request{JobID: "job-1"}), &poison)
	assert.Equal(t, "schema_invalid", poison.ReasonCode)
	require.ErrorAs(t, h.HandleJobResult(t.Context(), job.Result{JobID: "job-1"}), &poison)
	assert.Error(t, h.HandleHeartbeat(job.Heartbeat{}))
	assert.Empty(t, h.redis.Keys())
}

// State-read errors: first read fails, second finds RUNNING; nothing is published.
func TestHandleJobRequestStateReadErrorDoesNotDispatchDuplicate(t *testing.T) {
	for _, fault := range []string{"before", "late"} {
		h := newHarness(t)
		h.worker("worker-1")
		req := h.submit()
		h.force(job.Running, 1)
		h.faults.on(phase.StateRead, fault)
		r := h.retry(h.handle(req))
		assert.Equal(t, phase.StateRead, r.Phase)
		assert.Equal(t, time.Second, r.Delay)
		assert.NotErrorIs(t, r, redis.Nil)
		assert.Empty(t, h.dispatches())
		assert.True(t, h.logged("state read failed, failing closed", "job-1"))
		assert.EqualValues(t, 1, h.metric(`scheduler_state_read_fail_closed_total{topic="job.default"}`))
		h.unlocked()

		require.NoError(t, h.handle(req))
		assert.Empty(t, h.dispatches())
		assert.Equal(t, job.Running, h.record().State)
	}
}

func TestARecordThatCannotBeBelievedFailsClosed(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	req := h.submit()
	for field, odd := range map[string]string{"state": "DONE", "attempts": "many", "created_at": "then", "updated_at": "now"} {
		was := h.redis.HGet("job:job-1", field)
		h.redis.HSet("job:job-1", field, odd)
		assert.Equal(t, phase.StateRead, h.retry(h.handle(req)).Phase, field)
		assert.Empty(t, h.dispatches(), field)
		h.redis.HSet("job:job-1", field, was)
	}
	h.redis.HDel("job:job-1", "state")
	assert.Equal(t, phase.StateRead, h.retry(h.handle(req)).Phase)
	assert.Empty(t, h.dispatches())
}

func TestFailOpenDispatchesADuplicate(t *testing.T) {
	h := newHarness(t, func(s *settings.Settings) { s.ReadError = settings.FailOpen })
	h.worker("worker-1")
	req := h.submit()
	require.NoError(t, h.handle(req))
	h.faults.on(phase.StateRead, "before")
	require.NoError(t, h.handle(req))
	assert.Len(t, h.dispatches(), 2)
	assert.Equal(t, 2, h.record().Attempts, "attempts are still counted")
	assert.True(t, h.logged("state read failed, failing open"))
	for _, s := range job.States {
		members, _ := h.redis.ZMembers("job:index:" + string(s))
		if s == job.Running {
			assert.Equal(t, []string{"job-1"}, members)
		} else {
			assert.Empty(t, members, s)
		}
	}
}

func TestFailOpenIsStillBounded(t *testing.T) {
	h := newHarness(t, func(s *settings.Settings) { s.ReadError = settings.FailOpen })
	h.worker("worker-1")
	req := h.submit()
	h.force(job.Scheduled, 50)
	h.faults.on(phase.StateRead, "before")
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Failed, h.record().State)
	assert.Empty(t, h.dispatches())
}

func TestABusyLockIsRetried(t *testing.T) {
	h := newHarness(t)
	req := h.submit()
	require.NoError(t, h.redis.Set("cordum:scheduler:job:job-1", "another"))
	r := h.retry(h.handle(req))
	assert.Equal(t, phase.LockAcquire, r.Phase)
	assert.Equal(t, 500*time.Millisecond, r.Delay)
	assert.Equal(t, job.Pending, h.record().State)
	assert.EqualValues(t, 1, h.metric(`scheduler_retry_total{phase="lock_acquire",reason_code="",topic="job.default"}`))
	r = h.retry(h.result(job.StatusSucceeded))
	assert.Equal(t, 500*time.Millisecond, r.Delay)
	assert.EqualValues(t, 1, h.metric(`scheduler_retry_total{phase="lock_acquire",reason_code="",topic="unknown"}`))
}

// A store failure at any point before the publish sends the request back, with its phase, and the
// replay dispatches once.
func TestStoreFailuresBeforeThePublishAreRetried(t *testing.T) {
	for _, p := range []phase.Phase{phase.LockAcquire, phase.StateRead, phase.PendingWrite, phase.ScheduledWrite, phase.DispatchedWrite} {
		t.Run(string(p), func(t *testing.T) {
			h := newHarness(t, func(s *settings.Settings) { s.RetryDelayStore = 1700 * time.Millisecond })
			h.worker("worker-1")
			h.faults.on(p, "before")
			req := request("job-1") // without a record, so that it passes pending_write
			r := h.retry(h.handle(req))
			assert.Equal(t, p, r.Phase)
			assert.Equal(t, 1700*time.Millisecond, r.Delay)
			assert.Empty(t, h.dispatches())
			assert.True(t, h.logged("retrying later", `"phase":"`+string(p)+`"`))
			assert.EqualValues(t, 1, h.metric(`scheduler_retry_total{phase="`+string(p)+`",reason_code="",topic="job.default"}`))
			h.unlocked()

			require.NoError(t, h.handle(req))
			assert.Len(t, h.dispatches(), 1)
		})
	}
}

func TestAFailedLockReleaseLeavesTheLockToItsTTL(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	req := h.submit()
	h.faults.on(phase.LockRelease, "before")
	require.NoError(t, h.handle(req))
	assert.Equal(t, time.Minute, h.redis.TTL("cordum:scheduler:job:job-1"))
	assert.True(t, h.logged("lock release failed"))
}
