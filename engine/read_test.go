package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/safety/safetypb"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

func newCached(t *testing.T) *harness {
	h := newHarness(t, func(s *settings.Settings) { s.ReadError = settings.CachedState })
	h.worker("worker-1")
	return h
}

const cachedDecisions = `scheduler_state_read_cached_total{decision=`

// A SCHEDULED job whose record cannot be read is one that a kernel has allowed, but with which request nobody knows.
func TestTheKernelIsAskedAgainAboutAGuessedJob(t *testing.T) {
	for decision, goes := range map[safetypb.Decision]bool{safetypb.Decision_ALLOW: true, safetypb.Decision_REQUIRE_APPROVAL: false} {
		h, k := withKernel(t, func(s *settings.Settings) { s.ReadError = settings.CachedState })
		h.worker("worker-1")
		h.submit()
		h.faults.on(phase.Publish, "before")
		h.retry(h.handle(request("job-1")))
		require.Equal(t, job.Scheduled, h.record().State)
		k.answer = &safetypb.CheckResponse{Decision: decision}
		changed := request("job-1")
		changed.Payload = []byte(`"another"`)
		h.faults.on(phase.StateRead, "before")
		err := h.handle(changed)
		assert.Equal(t, goes, err == nil)
		assert.Len(t, k.asked, 2)
		assert.Equal(t, changed.Hash(), k.asked[1].GetJobHash())
		assert.Equal(t, goes, len(h.stored()) == 1)
	}
}

// State-read errors, cached-state fallback: what the replica knows to be in flight or over stays a no-op.
func TestTheCachedStateSkipsAJobInFlightOrOver(t *testing.T) {
	h := newCached(t)
	req := h.submit()
	require.NoError(t, h.handle(req))
	h.faults.on(phase.StateRead, "before")
	require.NoError(t, h.handle(req))
	assert.True(t, h.logged("state read failed, deciding by the cached state", `"state":"RUNNING"`, `"decision":"skip"`))

	require.NoError(t, h.result(job.StatusSucceeded))
	h.faults.on(phase.StateRead, "before")
	require.NoError(t, h.handle(req))
	assert.True(t, h.logged("state read failed, deciding by the cached state", `"state":"SUCCEEDED"`))

	assert.Len(t, h.dispatches(), 1)
	assert.Equal(t, job.Succeeded, h.record().State)
	assert.EqualValues(t, 2, h.metric(cachedDecisions+`"skip",topic="job.default"}`))
	assert.Zero(t, h.metric(`scheduler_state_read_fail_closed_total{topic="job.default"}`))
	h.unlocked()
}

func TestTheCachedStateLetsAJobGoOn(t *testing.T) {
	h := newCached(t)
	req := h.submit()
	h.faults.on(phase.Publish, "before")
	h.retry(h.handle(req)) // rolled back: SCHEDULED, attempts 2
	h.faults.on(phase.StateRead, "before")
	h.faults.on(phase.Publish, "before")
	r := h.retry(h.handle(req))
	assert.Equal(t, 4*time.Second, r.Delay, "the back-off goes by the cached attempts")
	h.faults.on(phase.StateRead, "before")
	require.NoError(t, h.handle(req))
	assert.Len(t, h.dispatches(), 1)
	assert.Equal(t, job.Running, h.record().State)
	assert.Equal(t, 5, h.record().Attempts)
	assert.EqualValues(t, 2, h.metric(cachedDecisions+`"proceed",topic="job.default"}`))
}

func TestCachedStateFailsClosedWithoutAFreshEntry(t *testing.T) {
	for name, before := range map[string]func(*harness, job.Request){
		"never heard of": func(*harness, job.Request) {},
		"too old": func(h *harness, req job.Request) {
			require.NoError(t, h.handle(req))
			h.clock.Advance(h.settings.StateCacheAge + 1)
		},
		"a write of unknown fate came last": func(h *harness, req job.Request) {
			h.faults.on(phase.RunningWrite, "after")
			require.NoError(t, h.handle(req))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newCached(t)
			req := h.submit()
			before(h, req)
			dispatches := len(h.dispatches())
			h.faults.on(phase.StateRead, "before")
			r := h.retry(h.handle(req))
			assert.Equal(t, phase.StateRead, r.Phase)
			assert.Equal(t, h.settings.RetryDelayStore, r.Delay)
			assert.Len(t, h.dispatches(), dispatches)
			assert.EqualValues(t, 1, h.metric(`scheduler_state_read_fail_closed_total{topic="job.default"}`))
		})
	}
}

// Results fail closed under every policy: what a request may guess, a terminal state may not.
func TestAResultFailsClosedWhateverIsCached(t *testing.T) {
	h := newCached(t)
	require.NoError(t, h.handle(h.submit()))
	h.faults.on(phase.StateRead, "before")
	assert.Equal(t, phase.StateRead, h.retry(h.result(job.StatusSucceeded)).Phase)
	assert.Equal(t, job.Running, h.record().State)
}

// The caveat of State-read errors: another replica has dispatched the job since, and this one does not know.
func TestAStaleCachedStateDispatchesADuplicate(t *testing.T) {
	h := newCached(t)
	req := h.submit()
	h.faults.on(phase.Publish, "before")
	h.retry(h.handle(req)) // this replica leaves it SCHEDULED

	c := h.config
	c.ID, c.Registerer = "scheduler-2", nil
	other, err := New(c)
	require.NoError(t, err)
	require.NoError(t, other.HandleHeartbeat(job.Heartbeat{WorkerID: "worker-1", Pool: "default"}))
	require.NoError(t, other.HandleJobRequest(t.Context(), req))
	require.Len(t, h.dispatches(), 1)

	h.faults.on(phase.StateRead, "before")
	require.NoError(t, h.handle(req))
	assert.Len(t, h.dispatches(), 2)
	for _, s := range job.States {
		members, _ := h.redis.ZMembers("job:index:" + string(s))
		if s == job.Running {
			assert.Equal(t, []string{"job-1"}, members)
		} else {
			assert.Empty(t, members, "the duplicate leaves the index as it should be: %s", s)
		}
	}
}

// At the ceiling by the cache's word, too, the job ends in one index.
func TestACachedJobAtTheCeilingFails(t *testing.T) {
	h := newCached(t)
	req := h.submit()
	h.force(job.Scheduled, 48)
	h.faults.on(phase.Publish, "before")
	h.retry(h.handle(req)) // SCHEDULED is the 49th, the rollback the 50th
	h.faults.on(phase.StateRead, "before")
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Failed, h.record().State)
	assert.Equal(t, 50, h.dlqEntry().Attempts)
	assert.Len(t, h.dispatches(), 0)
}
