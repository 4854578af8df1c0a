package engine

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

func newHardened(t *testing.T, change ...func(*settings.Settings)) *harness {
	h := newHarness(t, append([]func(*settings.Settings){hardened}, change...)...)
	h.worker("worker-1")
	return h
}

// stands stores a message in the place of job-1's first dispatch to a worker, as an earlier handling
// may have done.
func (h *harness) stands(workerID string, void bool) {
	h.t.Helper()
	body, err := json.Marshal(job.Dispatch{JobID: "job-1", Topic: "job.default", WorkerID: workerID, Epoch: 1})
	require.NoError(h.t, err)
	require.NoError(h.t, bus.Publish(h.t.Context(), h.js, bus.Message{
		Subject: bus.EpochSubject(workerID, "job-1", 1), JobID: "job-1", Epoch: 1, Void: void, Once: true, Body: body,
	}, time.Minute))
}

func TestAHardenedDispatchIsFencedAndHasAnEpoch(t *testing.T) {
	h := newHardened(t)
	req := h.submit()
	h.faults.calls = nil
	require.NoError(t, h.handle(req))
	rec := h.record()
	assert.Equal(t, job.Running, rec.State)
	assert.EqualValues(t, 1, rec.Epoch)
	assert.EqualValues(t, 4, rec.Version, "PENDING, SCHEDULED, DISPATCHED, RUNNING")
	assert.Equal(t, []string{
		"lock_acquire set", "state_read hgetall",
		"scheduled_write watch", "scheduled_write hmget", "scheduled_write multi",
		"dispatched_write watch", "dispatched_write hmget", "dispatched_write multi",
		"publish publish",
		"running_write watch", "running_write hmget", "running_write multi",
		"lock_release watch", "lock_release get", "lock_release multi", " hgetall",
	}, h.faults.calls)
	require.Len(t, h.stored(), 1)
	msg := h.stored()[0]
	assert.Equal(t, "worker.worker-1.jobs.job-1.1", msg.Subject)
	assert.Equal(t, "1", msg.Header.Get("Job-Epoch"))
	assert.EqualValues(t, 1, h.dispatches()[0].Epoch)
}

// Whatever is not known of a publish, the stream stores one dispatch: the intent is resumed.
func TestAPublishThatFailedIsResumed(t *testing.T) {
	for word, resumed := range map[string]int{"before": 0, "after": 1} {
		h := newHardened(t)
		req := h.submit()
		h.faults.on(phase.Publish, word)
		r := h.retry(h.handle(req))
		assert.Equal(t, phase.Publish, r.Phase)
		assert.Equal(t, time.Second, r.Delay)
		assert.Equal(t, job.Dispatched, h.record().State, "nothing is rolled back")
		assert.Len(t, h.dispatches(), resumed)
		h.unlocked()

		h.worker("worker-0") // who would be picked now
		require.NoError(t, h.handle(req))
		rec := h.record()
		assert.Equal(t, job.Running, rec.State)
		assert.Equal(t, "worker-1", rec.Worker)
		assert.Equal(t, 1, rec.Attempts)
		assert.EqualValues(t, 1, rec.Epoch)
		assert.Equal(t, []job.Dispatch{{
			JobID: "job-1", Topic: "job.default", WorkerID: "worker-1", Attempt: 1, Epoch: 1,
			IdempotencyKey: "key-job-1", Payload: []byte(`{"n":1}`), TraceID: "trace",
		}}, h.dispatches())
		assert.EqualValues(t, 1, h.metric(`scheduler_intents_resumed_total{topic="job.default"}`))
		assert.Zero(t, h.metric(`scheduler_dispatch_rollback_total{topic="job.default"}`))
		assert.EqualValues(t, 1-resumed, h.metric(`jobs_dispatched{topic="job.default"}`), "what the stream confirmed")
	}
}

// A publish that the stream refused is not in it: another worker may have the job.
func TestAPublishThatWasRefusedIsRolledBack(t *testing.T) {
	h := newHardened(t)
	req := h.submit()
	h.faults.on(phase.Publish, "refused")
	assert.Equal(t, phase.Publish, h.retry(h.handle(req)).Phase)
	assert.Equal(t, job.Scheduled, h.record().State)
	assert.Equal(t, 2, h.record().Attempts)
	require.NoError(t, h.handle(req))
	assert.EqualValues(t, 2, h.record().Epoch)
	assert.EqualValues(t, 2, h.dispatches()[0].Epoch)
	assert.Len(t, h.dispatches(), 1)
}

// What is refused now may have been stored before, unheard.
func TestAResumedIntentIsNeverRolledBack(t *testing.T) {
	h := newHardened(t)
	req := h.submit()
	h.faults.on(phase.Publish, "after", "refused")
	h.retry(h.handle(req))
	assert.Equal(t, phase.Publish, h.retry(h.handle(req)).Phase)
	assert.Equal(t, job.Dispatched, h.record().State)
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Running, h.record().State)
	assert.Len(t, h.dispatches(), 1)
}

func TestAFailedRunningWriteIsMadeUpFor(t *testing.T) {
	for _, word := range []string{"before", "after"} {
		h := newHardened(t)
		req := h.submit()
		h.faults.on(phase.RunningWrite, "ok", "ok", word) // WATCH, the look, MULTI
		r := h.retry(h.handle(req))
		assert.Equal(t, phase.RunningWrite, r.Phase)
		require.NoError(t, h.handle(req))
		assert.Equal(t, job.Running, h.record().State)
		assert.Len(t, h.dispatches(), 1)
	}
}

// An epoch has one dispatch, to whichever worker: the stream's word counts.
func TestADispatchOfTheEpochToAnotherWorkerCounts(t *testing.T) {
	h := newHardened(t)
	req := h.submit()
	h.stands("worker-2", false)
	require.NoError(t, h.handle(req))
	assert.Len(t, h.stored(), 1)
	assert.Equal(t, job.Running, h.record().State)
	assert.Equal(t, "worker-2", h.record().Worker)
	assert.True(t, h.logged("job was dispatched before", "worker-2"))
}

// A void that does not say what was decided is left to the reconciler.
func TestAVoidIsNotDispatched(t *testing.T) {
	h := newHardened(t)
	req := h.submit()
	h.stands("worker-1", true)
	for range 2 { // at once, and resumed
		require.NoError(t, h.handle(req))
		assert.Equal(t, job.Dispatched, h.record().State)
	}
	assert.Len(t, h.stored(), 1)
	assert.Zero(t, h.metric(`scheduler_intents_resumed_total{topic="job.default"}`))
	assert.True(t, h.logged("dispatch is void"))
	h.clock.Advance(h.settings.DispatchTimeout)
	require.NoError(t, h.reconcile())
	assert.Equal(t, job.Scheduled, h.record().State)
}

func TestWhatTheStreamHoldsMustBeKnown(t *testing.T) {
	h := newHardened(t)
	req := h.submit()
	h.stands("worker-1", false)
	h.faults.on(phase.PublishRead, "before")
	r := h.retry(h.handle(req))
	assert.Equal(t, phase.PublishRead, r.Phase)
	assert.ErrorIs(t, r, bus.ErrStored)
	assert.Equal(t, job.Dispatched, h.record().State)
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Running, h.record().State)
}

// A topic's subject names no job and no epoch, so that no compare-and-set is possible: the intent is
// rolled back, and not resumed.
func TestADispatchToATopicIsAtLeastOnce(t *testing.T) {
	h := newHarness(t, hardened)
	h.worker("host.1") // no token of a subject
	req := h.submit()
	h.faults.on(phase.Publish, "after")
	h.retry(h.handle(req))
	assert.Equal(t, job.Scheduled, h.record().State)
	require.NoError(t, h.handle(req))
	require.Len(t, h.stored(), 2)
	for i, m := range h.stored() {
		assert.Equal(t, "job.default", m.Subject)
		assert.Equal(t, nats.Header{"Job-Id": {"job-1"}, "Job-Epoch": {strconv.Itoa(i + 1)}}, m.Header)
	}
}

// A RUNNING write that failed is no reason to publish to a topic a second time.
func TestADispatchToATopicIsNotResumed(t *testing.T) {
	h := newHarness(t, hardened)
	h.worker("host.1")
	req := h.submit()
	h.faults.on(phase.RunningWrite, "before")
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Dispatched, h.record().State)
	require.NoError(t, h.handle(req))
	require.NoError(t, h.resume(t.Context(), "job-1"))
	assert.Len(t, h.stored(), 1)
	h.clock.Advance(h.settings.DispatchTimeout)
	require.NoError(t, h.reconcile())
	assert.Equal(t, job.Timeout, h.record().State, "the reconciler's")
}

// What each half of the promise is for.
func TestEpochsWithoutResumption(t *testing.T) {
	h := newHardened(t, func(s *settings.Settings) { s.ResumeIntents = false })
	req := h.submit()
	h.faults.on(phase.Publish, "after")
	h.retry(h.handle(req))
	assert.Equal(t, job.Scheduled, h.record().State, "rolled back")
	require.NoError(t, h.handle(req))
	assert.EqualValues(t, 1, h.dispatches()[0].Epoch)
	assert.EqualValues(t, 2, h.dispatches()[1].Epoch)

	h.faults.on(phase.RunningWrite, "before")
	h.redis.FlushAll()
	require.NoError(t, h.handle(h.submit()), "nobody would make up for it")
}

func TestResumptionWithoutEpochs(t *testing.T) {
	h := newHardened(t, func(s *settings.Settings) { s.Epochs = false })
	req := h.submit()
	h.faults.on(phase.Publish, "after")
	h.retry(h.handle(req))
	require.NoError(t, h.handle(req))
	require.Len(t, h.stored(), 2)
	assert.Equal(t, "worker.worker-1.jobs", h.stored()[1].Subject)
	assert.Zero(t, h.record().Epoch)
}

// An alternative of Dispatch ordering, whose duplicates the compare-and-set refuses.
func TestPublishFirstWithEpochs(t *testing.T) {
	h := newHardened(t, func(s *settings.Settings) { s.DispatchOrder = settings.PublishFirst })
	req := h.submit()
	h.faults.on(phase.DispatchedWrite, "before")
	assert.Equal(t, phase.DispatchedWrite, h.retry(h.handle(req)).Phase)
	h.worker("worker-0") // who is picked now
	require.NoError(t, h.handle(req))
	require.Len(t, h.dispatches(), 1)
	assert.EqualValues(t, 1, h.dispatches()[0].Epoch)
	rec := h.record()
	assert.Equal(t, job.Running, rec.State)
	assert.EqualValues(t, 1, rec.Epoch)
	assert.Equal(t, "worker-1", rec.Worker, "who has it")
}

func TestTheOutboxWithEpochs(t *testing.T) {
	for _, p := range []phase.Phase{phase.Publish, phase.OutboxRemove} {
		h := newHardened(t, func(s *settings.Settings) { s.DispatchOrder = settings.Outbox })
		req := h.submit()
		require.NoError(t, h.handle(req))
		require.NoError(t, h.handle(req), "the relay's to resume")
		assert.Empty(t, h.dispatches())
		h.faults.on(p, "after")
		h.relayed()
		h.relayed()
		require.Len(t, h.dispatches(), 1, "an ambiguous %s is not published twice", p)
		assert.EqualValues(t, 1, h.dispatches()[0].Epoch)
		assert.Equal(t, "worker.worker-1.jobs.job-1.1", h.stored()[0].Subject)
		assert.Equal(t, job.Running, h.record().State)
		assert.False(t, h.waiting())
	}
}

func TestTheOutboxDropsWhatIsVoid(t *testing.T) {
	h := newHardened(t, func(s *settings.Settings) { s.DispatchOrder = settings.Outbox })
	require.NoError(t, h.handle(h.submit()))
	h.stands("worker-1", true)
	h.relayed()
	assert.Equal(t, job.Dispatched, h.record().State)
	assert.False(t, h.waiting())
	assert.EqualValues(t, 1, h.metric(`scheduler_outbox_voided_total{topic="job.default"}`))
}
