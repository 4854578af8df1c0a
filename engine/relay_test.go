package engine

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

func newOutbox(t *testing.T) *harness {
	h := newHarness(t, func(s *settings.Settings) { s.DispatchOrder = settings.Outbox })
	h.worker("worker-1")
	return h
}

// relayed is what the relay does of its own accord while the engine runs.
func (h *harness) relayed() { h.relay(h.t.Context(), "job-1") }

// waiting says whether job-1's dispatch is in the outbox, in the hash and in the index alike.
func (h *harness) waiting() bool {
	h.t.Helper()
	entry := h.redis.HGet("cordum:scheduler:outbox", "job-1") != ""
	_, err := h.redis.ZScore("cordum:scheduler:outbox:due", "job-1")
	require.Equal(h.t, entry, err == nil)
	return entry
}

// Dispatch ordering, outbox + relay: DISPATCHED and the message are durable before anything is published.
func TestOutboxWritesTheMessageWithTheState(t *testing.T) {
	h := newOutbox(t)
	req := h.submit()
	h.faults.calls = nil
	require.NoError(t, h.handle(req))
	assert.Equal(t, []string{
		"lock_acquire set", "state_read hgetall", "scheduled_write multi", "dispatched_write multi",
		"lock_release watch", "lock_release get", "lock_release multi",
	}, h.faults.calls)
	assert.Equal(t, job.Dispatched, h.record().State)
	assert.Equal(t, "worker-1", h.record().Worker)
	assert.True(t, h.waiting())
	assert.Empty(t, h.dispatches())
	assert.Equal(t, "job-1", soon(t, h.kicks, "the relay is told at once"))

	h.clock.Advance(3 * time.Second)
	h.faults.calls = nil
	h.relayed()
	assert.Equal(t, []string{
		"lock_acquire set", "outbox_claim multi", "publish publish", "outbox_remove multi",
		"lock_release watch", "lock_release get", "lock_release multi",
	}, h.faults.calls)
	assert.Equal(t, []job.Dispatch{{
		JobID: "job-1", Topic: "job.default", WorkerID: "worker-1", Attempt: 1,
		IdempotencyKey: "key-job-1", Payload: []byte(`{"n":1}`), TraceID: "trace",
	}}, h.dispatches())
	assert.Equal(t, "worker.worker-1.jobs", h.stored()[0].Subject)
	assert.Equal(t, job.Running, h.record().State)
	assert.False(t, h.waiting())
	assert.EqualValues(t, 1, h.metric(`jobs_dispatched{topic="job.default"}`))
	assert.EqualValues(t, 1, h.metric(`dispatch_latency{topic="job.default"}`))
	h.unlocked()

	h.relayed()
	assert.Len(t, h.dispatches(), 1, "once published, it is gone")
}

func TestAFailedPublishStaysInTheOutbox(t *testing.T) {
	h := newOutbox(t)
	require.NoError(t, h.handle(h.submit()))
	h.faults.on(phase.Publish, "before", "before")
	for range 2 {
		h.relayed()
		assert.Equal(t, job.Dispatched, h.record().State, "nothing is rolled back")
		assert.Equal(t, 1, h.record().Attempts, "and no attempt is counted")
		assert.True(t, h.waiting())
		h.unlocked()
	}
	assert.EqualValues(t, 2, h.metric(`scheduler_outbox_retry_total{phase="publish"}`))
	assert.True(t, h.logged("outbox relay failed, retrying later", `"phase":"publish"`))
	h.relayed()
	assert.Len(t, h.dispatches(), 1)
	assert.Equal(t, job.Running, h.record().State)
}

// At least once: the relay cannot tell whether a publish without an answer was stored.
func TestAnAmbiguousPublishIsRepeatedWithItsKey(t *testing.T) {
	h := newOutbox(t)
	require.NoError(t, h.handle(h.submit()))
	h.faults.on(phase.Publish, "after")
	h.relayed()
	h.relayed()
	require.Len(t, h.dispatches(), 2)
	assert.Equal(t, h.dispatches()[0], h.dispatches()[1])
	assert.Equal(t, "key-job-1", h.dispatches()[1].IdempotencyKey)
	assert.False(t, h.waiting())
}

func TestAFailedRemovalIsPublishedAgain(t *testing.T) {
	h := newOutbox(t)
	require.NoError(t, h.handle(h.submit()))
	h.faults.on(phase.OutboxRemove, "before")
	h.relayed()
	assert.Equal(t, job.Dispatched, h.record().State)
	assert.EqualValues(t, 1, h.metric(`scheduler_outbox_retry_total{phase="outbox_remove"}`))
	h.relayed()
	assert.Len(t, h.dispatches(), 2)
	assert.False(t, h.waiting())
}

func TestAnEntryOfAJobThatHasMovedOnIsNotPublished(t *testing.T) {
	for _, s := range []job.State{job.Cancelled, job.Timeout, job.Succeeded} {
		h := newOutbox(t)
		require.NoError(t, h.handle(h.submit()))
		h.force(s, 1)
		h.faults.on(phase.OutboxRemove, "before")
		h.relayed()
		assert.True(t, h.waiting(), "until it could be taken out")
		h.relayed()
		assert.Empty(t, h.dispatches())
		assert.Equal(t, s, h.record().State)
		assert.False(t, h.waiting())
		assert.EqualValues(t, 1, h.metric(`scheduler_outbox_voided_total{topic="job.default"}`))
	}
}

// The redelivery gate holds: what is in the outbox is in flight.
func TestARedeliveryLeavesTheOutboxAlone(t *testing.T) {
	h := newOutbox(t)
	req := h.submit()
	require.NoError(t, h.handle(req))
	before := h.redis.Dump()
	require.NoError(t, h.handle(req))
	assert.Equal(t, before, h.redis.Dump())
}

// The write either brings both or neither; one of unknown fate is the poll's to find.
func TestTheOutboxWriteFails(t *testing.T) {
	for word, enters := range map[string]bool{"before": false, "after": true} {
		h := newOutbox(t)
		req := h.submit()
		h.faults.on(phase.DispatchedWrite, word)
		assert.Equal(t, phase.DispatchedWrite, h.retry(h.handle(req)).Phase)
		assert.Equal(t, enters, h.waiting())
		assert.Equal(t, enters, h.record().State == job.Dispatched)
		assert.Empty(t, h.kicks)
		require.NoError(t, h.handle(req))
		h.relayed()
		assert.Len(t, h.dispatches(), 1)
	}
}

func TestARelayThatCannotReadFailsClosed(t *testing.T) {
	h := newOutbox(t)
	require.NoError(t, h.handle(h.submit()))
	h.faults.on(phase.OutboxClaim, "before", "after")
	h.relayed()
	h.relayed()
	assert.Empty(t, h.dispatches())
	assert.True(t, h.waiting())
	assert.EqualValues(t, 2, h.metric(`scheduler_outbox_retry_total{phase="outbox_claim"}`))
	assert.EqualValues(t, 2, h.metric(`scheduler_state_read_fail_closed_total{topic="unknown"}`))
	h.relayed()
	assert.Len(t, h.dispatches(), 1)
}

// Two relays do not publish one entry: the job's lock is between them.
func TestARelayLeavesABusyEntryAlone(t *testing.T) {
	h := newOutbox(t)
	require.NoError(t, h.handle(h.submit()))
	require.NoError(t, h.redis.Set("cordum:scheduler:job:job-1", "another"))
	h.relayed()
	assert.Empty(t, h.dispatches())
	assert.Zero(t, h.metric(`scheduler_outbox_retry_total{phase="lock_acquire"}`), "that is no failure")
	h.redis.Del("cordum:scheduler:job:job-1")
	h.relayed()
	assert.Len(t, h.dispatches(), 1)
}

// A result of an ambiguous publish ends the job, and with it what is left in the outbox.
func TestAResultMayComeBeforeTheRepetition(t *testing.T) {
	h := newOutbox(t)
	require.NoError(t, h.handle(h.submit()))
	h.faults.on(phase.Publish, "after")
	h.relayed()
	require.NoError(t, h.result(job.StatusSucceeded))
	h.relayed()
	assert.Len(t, h.dispatches(), 1)
	assert.Equal(t, job.Succeeded, h.record().State)
	assert.False(t, h.waiting())
}

func TestRunRelaysAtOnce(t *testing.T) {
	h := newOutbox(t)
	stop := h.run()
	h.submit()
	h.logs.await("job dispatched") // without a move of the clock
	require.NoError(t, stop())
	assert.Len(t, h.dispatches(), 1)
	assert.False(t, h.waiting())
}

// A replica that crashed after the write left its lock and its entry behind.
func TestRunRelaysWhatAnotherReplicaLeftBehind(t *testing.T) {
	h := newHarness(t, func(s *settings.Settings) { s.DispatchOrder, s.RetryDelayBusy = settings.Outbox, time.Hour })
	h.worker("worker-1")
	require.NoError(t, h.handle(h.submit())) // of a process that ends here: nobody hears its kick
	<-h.kicks
	require.NoError(t, h.redis.Set("cordum:scheduler:job:job-1", "of the dead"))

	handled := h.handled()
	stop := h.run()
	handled() // sent back, and away for long: the lock that the relay takes is its own
	polls := func() {
		h.t.Helper()
		require.NoError(t, h.clock.BlockUntilContext(t.Context(), loops+1)) // and the relay's
		h.clock.Advance(h.settings.OutboxPoll)
	}
	h.faults.on(phase.OutboxRead, "before")
	polls()
	h.logs.await(`"phase":"outbox_read"`)
	h.redis.Del("cordum:scheduler:job:job-1") // by expiry
	polls()
	h.logs.await("job dispatched")
	require.NoError(t, stop())
	assert.Len(t, h.dispatches(), 1)
	assert.False(t, h.waiting())
}

// A graceful stop leaves nothing of its own behind.
func TestRunRelaysBeforeItEnds(t *testing.T) {
	h := newOutbox(t)
	handled := h.handled()
	stop := h.run()
	h.submit()
	handled() // so it was kicked
	require.NoError(t, stop())
	assert.Len(t, h.dispatches(), 1)
	assert.False(t, h.waiting())
}

func TestKicksAreBounded(t *testing.T) {
	h := newOutbox(t)
	for n := range kicksMax + 10 {
		h.kick("job-" + strconv.Itoa(n))
	}
	assert.Len(t, h.kicks, kicksMax)
}

// Without the setting there is no outbox, and nothing that looks for one.
func TestOtherOrdersHaveNoOutbox(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	stop := h.run()
	h.submit()
	h.logs.await("job dispatched")
	require.NoError(t, h.clock.BlockUntilContext(t.Context(), loops)) // and none of the relay
	require.NoError(t, stop())
	assert.False(t, h.redis.Exists(store.OutboxKey))
	assert.Empty(t, h.kicks)
}
