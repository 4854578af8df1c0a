package engine

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/recovery"
	"github.com/wavetank-sim/wavetank/engine/safety"
	"github.com/wavetank-sim/wavetank/engine/safety/safetypb"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// replayed takes job-1 up as the replayer would that has listed it.
func (h *harness) replayed() error {
	h.t.Helper()
	rec := h.record()
	return h.replay(h.t.Context(), &rec)
}

func TestAnOrphanIsHandledAsItsRequestWouldBe(t *testing.T) {
	for _, s := range []job.State{job.Pending, job.Scheduled} {
		h := newHarness(t)
		h.worker("worker-1")
		h.submit()
		h.force(s, 1)
		require.NoError(t, h.replayed())
		assert.Equal(t, job.Running, h.record().State)
		assert.Equal(t, 2, h.record().Attempts)
		require.Len(t, h.dispatches(), 1)
		assert.Equal(t, "key-job-1", h.dispatches()[0].IdempotencyKey)
		assert.JSONEq(t, `{"n":1}`, string(h.dispatches()[0].Payload))
		assert.EqualValues(t, 1, h.metric(`orphan_replayed{topic="job.default"}`))
		h.unlocked()
	}
}

func TestAnOrphanThatCannotBeHandled(t *testing.T) {
	h := newHarness(t)
	h.submit()
	assert.Equal(t, "no_workers", h.retry(h.replayed()).ReasonCode)
	assert.EqualValues(t, 1, h.metric(`orphan_replayed{topic="job.default"}`), "it was taken up")
	h.faults.on(phase.StateRead, "before")
	assert.Equal(t, phase.StateRead, h.retry(h.replayed()).Phase)
	h.take()
	assert.ErrorIs(t, h.replayed(), lock.ErrBusy)
	assert.EqualValues(t, 1, h.metric(`orphan_replayed{topic="job.default"}`), "somebody is at it")
	h.redis.HSet("job:job-1", "request", "{")
	assert.ErrorContains(t, h.replayed(), "request of job-1")
}

// Another may bring a job on after the replayer has read it, and before it has the job's lock.
func TestAnOrphanInAnothersHandsIsNotCounted(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	req := h.submit()
	listed := h.record()
	h.faults.first[phase.LockAcquire] = func() { require.NoError(t, h.handle(req)) }
	require.NoError(t, h.replay(t.Context(), &listed))
	assert.Equal(t, job.Running, h.record().State)
	assert.Zero(t, h.metric(`orphan_replayed{topic="job.default"}`))
	assert.EqualValues(t, 2, h.metric(`jobs_received{topic="job.default"}`))
}

// Scheduler internals, section 3: the replayer takes up what was approved, and nothing else that waits.
// It goes the whole way of a request: the kernel is asked about it, too.
func TestAnOrphanIsAskedAbout(t *testing.T) {
	h, k := withKernel(t)
	k.answer = &safetypb.CheckResponse{Decision: safetypb.Decision_DENY}
	h.submit()
	require.NoError(t, h.replayed())
	assert.Equal(t, job.Denied, h.record().State)
	assert.Len(t, k.asked, 1)
}

func TestAnApprovedJobIsReplayed(t *testing.T) {
	h, _ := asks(t)
	h.parked()
	listed := h.record()
	assert.False(t, granted(t, h, &listed))
	require.NoError(t, h.replayed(), "it goes on waiting")
	assert.Equal(t, job.ApprovalRequired, h.record().State)
	require.NoError(t, h.client().Approve(t.Context(), "job-1", "", "ops"))
	listed = h.record()
	assert.True(t, granted(t, h, &listed))
	h.faults.on(phase.ApprovedWrite, "before")
	assert.Equal(t, phase.ApprovedWrite, h.retry(h.replayed()).Phase)
	assert.Equal(t, job.ApprovalRequired, h.record().State)
	h.faults.on(phase.StateRead, "before")
	assert.Equal(t, phase.StateRead, h.retry(h.replayed()).Phase)

	listed = h.record()
	require.NoError(t, h.replayed())
	assert.Equal(t, job.Running, h.record().State)
	require.NoError(t, h.replay(t.Context(), &listed), "it has moved on")
	assert.Len(t, h.dispatches(), 1)
}

// What puts an orphan off although nothing has failed would do so on any replica; but that nobody is known
// may be that of one which hears no heartbeats.
func TestWhatAnOrphanIsPutOffForByItself(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(h *harness)
		own  bool
	}{
		"nobody is known": {func(*harness) {}, false},
		"no worker of its topic": {func(h *harness) {
			require.NoError(t, h.HandleHeartbeat(job.Heartbeat{WorkerID: "worker-1", Pool: "default", Topics: []string{"job.other"}, MaxParallelJobs: 10}))
		}, true},
		"a publish failed": {func(h *harness) { h.worker("worker-1"); h.faults.on(phase.Publish, "before") }, false},
		"a write failed":   {func(h *harness) { h.worker("worker-1"); h.faults.on(phase.ScheduledWrite, "before") }, false},
		"no request":       {func(h *harness) { h.redis.HSet("job:job-1", "request", "{") }, true},
	} {
		h := newHarness(t, hardened)
		h.submit()
		c.harm(h)
		err := h.replayed()
		require.Error(t, err, name)
		assert.Equal(t, c.own, errors.Is(err, recovery.ErrOwn), "%s: %v", name, err)
	}
}

// While the circuit is open, which the replicas share, none of them gets further with what needs the kernel. Before that this
// replica alone may be cut off from it.
func TestAnAbsentKernelIsNoFaultOfTheReplayersReplica(t *testing.T) {
	h, k := withKernel(t)
	k.err = status.Error(codes.Unavailable, "down")
	h.submit()
	for n := range h.settings.Policy.CircuitFailBudget + 1 {
		err := h.replayed()
		require.ErrorIs(t, err, safety.ErrUnavailable)
		assert.Equal(t, n >= h.settings.Policy.CircuitFailBudget, errors.Is(err, recovery.ErrOwn), n)
	}
}

// An intent is published again, and no attempt is counted.
func TestAnIntentIsResumedByTheReplayer(t *testing.T) {
	h := newHarness(t, hardened)
	h.lostDispatch()
	require.NoError(t, h.replayed())
	assert.Equal(t, job.Running, h.record().State)
	assert.Equal(t, 1, h.record().Attempts)
	assert.Len(t, h.dispatches(), 1)
	assert.Zero(t, h.metric(`orphan_replayed{topic="job.default"}`))
	assert.EqualValues(t, 1, h.metric(`scheduler_intents_resumed_total{topic="job.default"}`))
}

func TestWhatTheReplayerTakesUp(t *testing.T) {
	states := func(change func(*settings.Settings)) (out []job.State) {
		for _, w := range newHarness(t, change).Engine.waits() {
			out = append(out, w.State)
		}
		return out
	}
	orphans := []job.State{job.Pending, job.ApprovalRequired}
	assert.Equal(t, orphans, states(func(*settings.Settings) {}))
	assert.Equal(t, append(orphans, job.Scheduled, job.Dispatched), states(hardened))
	assert.Equal(t, []job.State{job.Dispatched}, states(func(s *settings.Settings) { hardened(s); s.PendingReplayer, s.SweepScheduled = false, false }))
	assert.Equal(t, append(orphans, job.Scheduled), states(func(s *settings.Settings) { hardened(s); s.DispatchOrder = settings.Outbox }), "the outbox has a relay of its own")
	assert.Empty(t, states(func(s *settings.Settings) { s.PendingReplayer = false }))
}

// Scheduler internals, section 3: a job whose request is lost is taken up two minutes later.
func TestRunReplaysAnOrphan(t *testing.T) {
	h := newHarness(t)
	req := request("job-1")
	_, err := h.store.Create(t.Context(), &req, []byte(`{"job_id":"job-1","topic":"job.default"}`))
	require.NoError(t, err)
	h.clock.Advance(h.settings.PendingAge - h.settings.PollInterval)
	h.worker("worker-1")
	stop := h.run()
	require.NoError(t, h.clock.BlockUntilContext(t.Context(), loops))
	h.clock.Advance(h.settings.PollInterval)
	h.logs.await("job dispatched")
	require.NoError(t, stop())
	assert.Equal(t, job.Running, h.record().State)
	assert.True(t, h.logged("orphan replayed", `"state":"PENDING"`))
}
