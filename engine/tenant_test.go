package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

func ofTenant(id, tenant string) job.Request {
	r := request(id)
	r.Tenant = tenant
	return r
}

func limited(n int) func(*settings.Settings) { return func(s *settings.Settings) { s.TenantLimit = n } }

func (h *harness) inFlight(tenant string) []string {
	h.t.Helper()
	members, err := h.redis.SMembers("cordum:tenant:" + tenant + ":active")
	if err != nil {
		return nil
	}
	return members
}

// ends gives job-1 a result of the dispatch that it has had.
func (h *harness) ends(s job.Status) {
	h.t.Helper()
	require.NoError(h.t, h.HandleJobResult(h.t.Context(), job.Result{JobID: "job-1", WorkerID: "worker-1", Status: s, Epoch: h.record().Epoch}))
}

func TestATenantHasSoManyJobsInFlight(t *testing.T) {
	for name, h := range map[string]*harness{
		"counted":  newHarness(t, limited(2)),
		"reserved": newHardened(t, limited(2)),
		"outbox":   newHardened(t, limited(2), func(s *settings.Settings) { s.DispatchOrder = settings.Outbox }),
		"unfenced": newHarness(t, limited(2), func(s *settings.Settings) { s.TenantReserve = true }),
		"publish":  newHarness(t, limited(2), func(s *settings.Settings) { s.TenantReserve, s.DispatchOrder = true, settings.PublishFirst }),
	} {
		h.worker("worker-1")
		require.NoError(t, h.handle(ofTenant("job-1", "a")), name)
		require.NoError(t, h.handle(ofTenant("job-2", "a")), name)
		r := h.retry(h.handle(ofTenant("job-3", "a")))
		assert.Equal(t, "tenant_limit", r.ReasonCode, name)
		first := r.Delay
		assert.GreaterOrEqual(t, first, h.settings.BackoffBase, name)
		assert.LessOrEqual(t, first, h.settings.BackoffBase+h.settings.BackoffJitter, name)
		assert.Equal(t, phase.TenantRead, r.Phase, name)
		assert.Contains(t, r.Error(), `tenant "a", at most 2`, name)
		assert.Equal(t, "SCHEDULED", h.redis.HGet("job:job-3", "state"), name)
		assert.EqualValues(t, 1, h.metric(`scheduler_retry_total{phase="tenant_read",reason_code="tenant_limit",topic="job.default"}`), name)
		for range 4 {
			r = h.retry(h.handle(ofTenant("job-3", "a")))
		}
		assert.GreaterOrEqual(t, r.Delay, 16*h.settings.BackoffBase, "%s: it grows with the attempts", name)
		require.NoError(t, h.handle(ofTenant("job-4", "b")), "%s: another tenant", name)
		require.NoError(t, h.handle(ofTenant("job-5", "")), "%s: nobody's", name)
		assert.Equal(t, []string{"job-1", "job-2"}, h.inFlight("a"), name)
		assert.Equal(t, []string{"job-5"}, h.inFlight("default"), name)

		h.ends(job.StatusSucceeded)
		assert.Equal(t, []string{"job-2"}, h.inFlight("a"), name)
		require.NoError(t, h.handle(ofTenant("job-3", "a")), name)
		assert.Equal(t, []string{"job-2", "job-3"}, h.inFlight("a"), name)
	}
}

func TestWithoutALimitNobodyCounts(t *testing.T) {
	h := newHardened(t)
	h.worker("worker-1")
	require.NoError(t, h.handle(ofTenant("job-1", "a")))
	assert.Empty(t, h.inFlight("a"))
}

func TestEveryWayOutGivesTheSlotBack(t *testing.T) {
	for name, end := range map[string]func(h *harness){
		"succeeded": func(h *harness) { h.ends(job.StatusSucceeded) },
		"failed":    func(h *harness) { h.ends(job.StatusFailed) },
		"cancelled": func(h *harness) { require.NoError(t, h.HandleJobCancel(t.Context(), job.Cancel{JobID: "job-1"})) },
		"timed out": func(h *harness) {
			h.clock.Advance(time.Hour)
			rec := h.record()
			require.NoError(t, h.timeOut(t.Context(), &rec, "too late"))
		},
	} {
		h := newHardened(t, limited(1))
		h.worker("worker-1")
		require.NoError(t, h.handle(ofTenant("job-1", "a")))
		assert.Equal(t, []string{"job-1"}, h.inFlight("a"), name)
		end(h)
		assert.Empty(t, h.inFlight("a"), name)
	}
}

func TestARollbackGivesTheSlotBack(t *testing.T) {
	h := newHarness(t, limited(1))
	h.worker("worker-1")
	h.faults.on(phase.Publish, "before")
	h.retry(h.handle(ofTenant("job-1", "a")))
	assert.Empty(t, h.inFlight("a"))
	require.NoError(t, h.handle(ofTenant("job-1", "a")))
	assert.Equal(t, []string{"job-1"}, h.inFlight("a"))
}

// Between the look at the tenant's set and the write another job comes and goes, or takes the last slot.
func TestOthersComeAndGoInBetween(t *testing.T) {
	h := newHardened(t, limited(2))
	h.worker("worker-1")
	rounds := 0
	var again func()
	again = func() {
		if rounds++; rounds%2 == 0 { // ahead of a MULTI: the look goes first, and the WATCH before that
			_, _ = h.redis.SAdd("cordum:tenant:a:active", "other")
			_, _ = h.redis.SRem("cordum:tenant:a:active", "other")
		}
		if rounds < 6 {
			h.faults.mu.Lock()
			h.faults.first[phase.DispatchedWrite] = again
			h.faults.mu.Unlock()
		}
	}
	h.faults.first[phase.DispatchedWrite] = again
	require.NoError(t, h.handle(ofTenant("job-1", "a")))
	assert.Equal(t, []string{"job-1"}, h.inFlight("a"))
	assert.Zero(t, h.metric(`scheduler_fenced_writes_total{phase="dispatched_write",topic="job.default"}`))
}

// A job that ended while nobody kept the set gives its slot back all the same, at the next poll.
func TestASlotOfAJobThatIsOverIsGivenBack(t *testing.T) {
	for name, h := range map[string]*harness{"counted": newHarness(t, limited(2)), "reserved": newHardened(t, limited(2))} {
		h.worker("worker-1")
		require.NoError(t, h.handle(ofTenant("job-1", "a")), name)
		_, _ = h.redis.SAdd("cordum:tenant:a:active", "gone")
		h.retry(h.handle(ofTenant("job-2", "a")))
		assert.Equal(t, []string{"job-1"}, h.inFlight("a"), name)
		require.NoError(t, h.handle(ofTenant("job-2", "a")), name)

		h.redis.HSet("job:job-2", "state", "SUCCEEDED")
		h.retry(h.handle(ofTenant("job-3", "a")))
		assert.Equal(t, []string{"job-1", "job-2"}, h.inFlight("a"), "%s: it has just looked", name)
		h.clock.Advance(30 * time.Second)
		h.worker("worker-1")
		h.retry(h.handle(ofTenant("job-3", "a")))
		assert.Equal(t, []string{"job-1"}, h.inFlight("a"), name)
	}
}

func TestACountThatFailsIsTriedAgain(t *testing.T) {
	h := newHarness(t, limited(2))
	h.worker("worker-1")
	h.faults.on(phase.TenantRead, "before")
	r := h.retry(h.handle(ofTenant("job-1", "a")))
	assert.Equal(t, phase.TenantRead, r.Phase)
	assert.Empty(t, r.ReasonCode)
	require.NoError(t, h.handle(ofTenant("job-1", "a")))
}

// The last attempt says in the DLQ what all of them met.
func TestATenantThatStaysAtItsLimitLosesNoJobUnseen(t *testing.T) {
	h := newHardened(t, limited(1), func(s *settings.Settings) { s.MaxSchedulingRetries = 2 })
	h.worker("worker-1")
	require.NoError(t, h.handle(ofTenant("job-0", "a")))
	h.retry(h.handle(ofTenant("job-1", "a")))
	require.NoError(t, h.handle(ofTenant("job-1", "a")))
	assert.Equal(t, job.Failed, h.record().State)
	assert.Equal(t, "max_scheduling_retries", h.record().ReasonCode)
	assert.Equal(t, "max_scheduling_retries", h.dlqEntry().ReasonCode)
	assert.Equal(t, "tenant_limit", h.dlqEntry().LastCause)
	assert.Equal(t, 2, h.dlqEntry().Attempts)
	assert.Len(t, h.dispatches(), 1)
}
