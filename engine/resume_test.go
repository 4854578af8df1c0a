package engine

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
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

// How long a dispatch took is not told by the handling that got it through.
func TestTheLatencyOfAResumedDispatch(t *testing.T) {
	h := newHardened(t)
	req := h.submit()
	h.faults.on(phase.Publish, "before")
	h.retry(h.handle(req))
	h.clock.Advance(3 * time.Second)
	require.NoError(t, h.handle(req))
	assert.Equal(t, 3.0, h.sum("dispatch_latency"))
}

// sum is that of what a histogram of one series has observed.
func (h *harness) sum(name string) float64 {
	h.t.Helper()
	families, err := h.reg.Gather()
	require.NoError(h.t, err)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetHistogram().GetSampleSum()
		}
	}
	return 0
}

// A publish without an answer is repeated while it is young. Then the job goes back, which counts an attempt.
func TestAPublishThatStaysWithoutAnAnswerCountsAnAttempt(t *testing.T) {
	for even, want := range map[bool]job.State{true: job.Scheduled, false: job.Dispatched} {
		h := newHardened(t, func(s *settings.Settings) { s.EvenBackoff = even })
		req := h.submit()
		h.faults.on(phase.Publish, "before", "before", "before")
		h.retry(h.handle(req))
		h.clock.Advance(29 * time.Second)
		h.worker("worker-1")
		h.retry(h.handle(req))
		assert.Equal(t, job.Dispatched, h.record().State, "it may be a matter of moments")
		h.clock.Advance(time.Second)
		h.retry(h.handle(req))
		assert.Equal(t, want, h.record().State)
		assert.Equal(t, map[bool]int{true: 2, false: 1}[even], h.record().Attempts)
		require.NoError(t, h.handle(req))
		assert.Equal(t, job.Running, h.record().State)
	}
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
	for _, change := range []func(*settings.Settings){
		func(s *settings.Settings) { s.ResumeIntents = false },
		func(s *settings.Settings) { s.DispatchOrder = settings.Outbox },
	} {
		h := newHardened(t, change)
		h.submit()
		h.intended("worker-1")
		require.NoError(t, h.resume(t.Context(), "job-1"))
		assert.Empty(t, h.stored())
	}
}

func TestResumeFailsClosed(t *testing.T) {
	h := newHardened(t)
	h.submit()
	h.intended("worker-1")
	h.faults.on(phase.StateRead, "before")
	assert.Equal(t, phase.StateRead, h.retry(h.resume(t.Context(), "job-1")).Phase)
	assert.Empty(t, h.stored())

	h.redis.HSet("job:job-1", "request", "not JSON")
	assert.Equal(t, "dispatch_failed", h.retry(h.resume(t.Context(), "job-1")).ReasonCode)
	assert.Empty(t, h.stored())
}

// The cache's word is no ground to publish on.
func TestACachedIntentIsNotResumed(t *testing.T) {
	h := newHardened(t, func(s *settings.Settings) { s.ReadError = settings.CachedState })
	req := h.submit()
	h.faults.on(phase.Publish, "before")
	h.retry(h.handle(req))
	h.faults.on(phase.StateRead, "before")
	require.NoError(t, h.handle(req))
	assert.Empty(t, h.stored())
	require.NoError(t, h.resume(t.Context(), "job-1"), "the replayer takes it up")
	assert.Len(t, h.dispatches(), 1)
}

// intended leaves job-1 DISPATCHED to a worker, and nothing published.
func (h *harness) intended(workerID string) {
	h.t.Helper()
	h.force(job.Dispatched, 1)
	h.redis.HSet("job:job-1", "worker", workerID, "epoch", "1")
}

// A dispatch to a worker that died would lie in its stream until the running timeout.
func TestTheIntentOfADeadWorkerIsVoidedAndPickedAgain(t *testing.T) {
	h := newHardened(t)
	req := h.submit()
	h.intended("worker-0")
	r := h.retry(h.resume(t.Context(), "job-1"))
	assert.Equal(t, phase.Publish, r.Phase)
	assert.Equal(t, job.Scheduled, h.record().State)
	assert.Equal(t, 2, h.record().Attempts)
	assert.Empty(t, h.record().Worker)
	require.Len(t, h.voids(), 1)
	var v job.Void
	require.NoError(t, json.Unmarshal(h.voids()[0].Data, &v))
	assert.Equal(t, job.Void{JobID: "job-1", Topic: "job.default", Epoch: 1, End: job.Scheduled, Reason: "worker worker-0 is not alive"}, v)
	assert.EqualValues(t, 1, h.metric(`scheduler_dispatch_rollback_total{topic="job.default"}`))

	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Running, h.record().State)
	assert.Equal(t, "worker-1", h.record().Worker)
	assert.EqualValues(t, 2, h.record().Epoch)
	assert.Zero(t, h.metric(`scheduler_intents_resumed_total{topic="job.default"}`))
}

// Wherever that breaks off, the next resumption goes on, even if the worker is back by then.
func TestAPickAgainThatBreaksOffIsTakenUpAgain(t *testing.T) {
	for _, p := range []phase.Phase{phase.VoidPublish, phase.RollbackWrite} {
		for _, back := range []bool{false, true} {
			h := newHardened(t)
			req := h.submit()
			h.intended("worker-0")
			h.faults.on(p, map[phase.Phase]string{phase.VoidPublish: "after", phase.RollbackWrite: "before"}[p])
			assert.Equal(t, p, h.retry(h.handle(req)).Phase)
			assert.Equal(t, job.Dispatched, h.record().State)
			if back {
				h.worker("worker-0")
			}
			h.retry(h.handle(req))
			assert.Equal(t, job.Scheduled, h.record().State)
			assert.Equal(t, 2, h.record().Attempts)
			require.NoError(t, h.handle(req))
			assert.Equal(t, job.Running, h.record().State)
			assert.Len(t, h.stored(), 2, "the void and the dispatch of the second epoch")
		}
	}
}

func TestTheIntentOfADeadWorkerAtTheCeiling(t *testing.T) {
	h := newHardened(t)
	h.submit()
	h.intended("worker-0")
	h.redis.HSet("job:job-1", "attempts", strconv.Itoa(h.settings.MaxSchedulingRetries))
	require.NoError(t, h.resume(t.Context(), "job-1"))
	assert.Equal(t, job.Failed, h.record().State)
	assert.Equal(t, "max_scheduling_retries", h.dlqEntry().ReasonCode)
}

// The publish that nobody heard of came first.
func TestADeadWorkerThatHasTheJobKeepsIt(t *testing.T) {
	h := newHardened(t)
	h.submit()
	h.intended("worker-0")
	h.stands("worker-0", false)
	require.NoError(t, h.resume(t.Context(), "job-1"))
	assert.Equal(t, job.Running, h.record().State)
	assert.Equal(t, "worker-0", h.record().Worker)
	assert.Len(t, h.stored(), 1)
}

func TestWithoutVoidsADeadWorkersIntentIsResumed(t *testing.T) {
	h := newHardened(t, func(s *settings.Settings) { s.VoidIntents = false })
	h.submit()
	h.intended("worker-0")
	require.NoError(t, h.resume(t.Context(), "job-1"))
	assert.Equal(t, job.Running, h.record().State)
	assert.Equal(t, "worker-0", h.dispatches()[0].WorkerID)
}

// A void that the stream refuses leaves room for a publish that is under way: the job is not picked again.
func TestARefusedVoidPicksNobody(t *testing.T) {
	h := newHardened(t)
	h.submit()
	h.intended("worker-0")
	h.faults.on(phase.VoidPublish, "refused")
	assert.Equal(t, phase.VoidPublish, h.retry(h.resume(t.Context(), "job-1")).Phase)
	assert.Equal(t, job.Dispatched, h.record().State)
}
