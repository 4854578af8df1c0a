package engine

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/routing"
	"github.com/wavetank-sim/wavetank/engine/saga"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// Dispatch ordering: a failed DISPATCHED write blocks the publish; the replay publishes once.
func TestDuplicateDispatchOnDispatchedStateFailure(t *testing.T) {
	for _, fault := range []string{"before", "late"} {
		h := newHarness(t)
		h.worker("worker-1")
		req := h.submit()
		h.faults.on(phase.DispatchedWrite, fault)
		r := h.retry(h.handle(req))
		assert.Equal(t, phase.DispatchedWrite, r.Phase)
		assert.Equal(t, time.Second, r.Delay)
		assert.Empty(t, h.dispatches())

		require.NoError(t, h.handle(req))
		assert.Len(t, h.dispatches(), 1)
		require.NoError(t, h.handle(req))
		assert.Len(t, h.dispatches(), 1)
	}
}

// Dispatch ordering: each failed replay counts twice, for SCHEDULED and for the rollback to SCHEDULED.
func TestProcessJobPublishFailureScheduledReplayIncrementsAttempts(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	req := h.submit()
	h.faults.on(phase.Publish, "before", "late") // a deadline that has passed is an error like any other

	r := h.retry(h.handle(req))
	assert.Equal(t, 2, h.record().Attempts)
	assert.Equal(t, job.Scheduled, h.record().State)
	assert.Empty(t, h.record().Worker)
	assert.Equal(t, phase.Publish, r.Phase)
	assert.Equal(t, "dispatch_failed", r.ReasonCode)
	assert.Equal(t, time.Second, r.Delay, "the first delay is the base")

	r = h.retry(h.handle(req))
	assert.Equal(t, 4, h.record().Attempts)
	assert.Equal(t, job.Scheduled, h.record().State)
	assert.Equal(t, 4*time.Second, r.Delay, "two attempts later it has doubled twice")
	assert.Empty(t, h.dispatches())

	require.NoError(t, h.handle(req))
	assert.Equal(t, 5, h.record().Attempts)
	assert.Equal(t, job.Running, h.record().State)
	require.Len(t, h.dispatches(), 1)
	assert.Equal(t, 5, h.dispatches()[0].Attempt)
	assert.EqualValues(t, 2, h.metric(`scheduler_dispatch_rollback_total{topic="job.default"}`))
	assert.EqualValues(t, 2, h.metric(`scheduler_retry_total{phase="publish",reason_code="dispatch_failed",topic="job.default"}`))
	assert.Zero(t, h.metric(`scheduler_dispatch_rollback_failed_total{topic="job.default"}`))
}

func TestTheBackoffIsBounded(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	req := h.submit()
	h.force(job.Scheduled, 46)
	h.faults.on(phase.Publish, "before")
	assert.Equal(t, 30*time.Second, h.retry(h.handle(req)).Delay)
}

// What state-first cannot promise: a publish that was stored although its ack was lost is rolled
// back and published again.
func TestAPublishWhoseAckIsLostIsPublishedTwice(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	req := h.submit()
	h.faults.on(phase.Publish, "after")
	h.retry(h.handle(req))
	require.NoError(t, h.handle(req))
	assert.Len(t, h.dispatches(), 2)
}

// Dispatch ordering, residual risk window: the job stays DISPATCHED and its redelivery is a no-op.
func TestAFailedRollbackLeavesTheJobDispatched(t *testing.T) {
	for _, fault := range []string{"before", "late"} {
		h := newHarness(t)
		h.worker("worker-1")
		req := h.submit()
		h.faults.on(phase.Publish, "before")
		h.faults.on(phase.RollbackWrite, fault)
		r := h.retry(h.handle(req))
		assert.Equal(t, phase.RollbackWrite, r.Phase)
		assert.Equal(t, time.Second, r.Delay)
		assert.Equal(t, job.Dispatched, h.record().State)
		assert.Equal(t, 1, h.record().Attempts)
		assert.True(t, h.logged("dispatch rollback failed", "job-1"))
		assert.EqualValues(t, 1, h.metric(`scheduler_dispatch_rollback_total{topic="job.default"}`))
		assert.EqualValues(t, 1, h.metric(`scheduler_dispatch_rollback_failed_total{topic="job.default"}`))
		assert.EqualValues(t, 1, h.metric(`scheduler_retry_total{phase="rollback_write",reason_code="dispatch_failed",topic="job.default"}`))

		require.NoError(t, h.handle(req))
		assert.Equal(t, job.Dispatched, h.record().State)
		assert.Empty(t, h.dispatches())
	}
}

func TestAFailedRunningWriteIsNotRetried(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	req := h.submit()
	h.faults.on(phase.RunningWrite, "before")
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Dispatched, h.record().State)
	assert.Len(t, h.dispatches(), 1)
	assert.True(t, h.logged("running write failed"))
	assert.EqualValues(t, 1, h.metric(`scheduler_running_write_failed_total{topic="job.default"}`))
	require.NoError(t, h.result(job.StatusSucceeded))
	assert.Equal(t, job.Succeeded, h.record().State)
}

func TestPublishFirstDispatchesADuplicate(t *testing.T) {
	h := newHarness(t, func(s *settings.Settings) { s.DispatchOrder = settings.PublishFirst })
	h.worker("worker-1")
	req := h.submit()
	h.faults.on(phase.DispatchedWrite, "before")
	assert.Equal(t, phase.DispatchedWrite, h.retry(h.handle(req)).Phase)
	assert.Equal(t, job.Scheduled, h.record().State)
	require.NoError(t, h.handle(req))
	assert.Len(t, h.dispatches(), 2)
	assert.Equal(t, job.Running, h.record().State)
}

func TestPublishFirstDoesNotRollBack(t *testing.T) {
	h := newHarness(t, func(s *settings.Settings) { s.DispatchOrder = settings.PublishFirst })
	h.worker("worker-1")
	req := h.submit()
	h.faults.on(phase.Publish, "before")
	r := h.retry(h.handle(req))
	assert.Equal(t, phase.Publish, r.Phase)
	assert.Equal(t, time.Second, r.Delay)
	assert.Equal(t, 1, h.record().Attempts)
	assert.Zero(t, h.metric(`scheduler_dispatch_rollback_total{topic="job.default"}`))
	require.NoError(t, h.handle(req))
	assert.Equal(t, 2, h.record().Attempts)
	assert.Len(t, h.dispatches(), 1)
}

// Stale workers, next step 1.
func TestStaleWorkerLoopRetriesExactlyThreeTimes(t *testing.T) {
	for _, c := range []struct {
		name     string
		settings func(*settings.Settings)
		picks    float64
		code     string
	}{
		{"documented", func(*settings.Settings) {}, 3, "no_workers"},
		{"hardened", func(s *settings.Settings) { s.StaleReasonCode = settings.Hardened().StaleReasonCode }, 3, "stale_worker"},
		{"five picks", func(s *settings.Settings) { s.MaxDispatchRetries = 5 }, 5, "no_workers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, c.settings)
			h.worker("worker-1")
			h.clock.Advance(30 * time.Second)
			require.True(t, h.registry.IsAlive("worker-1"))
			h.clock.Advance(1) // past its TTL, before the next sweep
			req := h.submit()
			r := h.retry(h.handle(req))
			assert.ErrorIs(t, r, routing.ErrNoWorkers)
			assert.Equal(t, phase.Pick, r.Phase)
			assert.Equal(t, c.code, r.ReasonCode)
			assert.Equal(t, 2*time.Second, r.Delay)
			assert.Equal(t, c.picks, h.metric(`scheduler_stale_worker_retry_total{topic="job.default",worker="worker-1"}`))
			assert.True(t, h.logged("stale worker detected, retrying dispatch", "worker-1"))
			assert.EqualValues(t, c.picks, strings.Count(h.logs.String(), "stale worker detected, retrying dispatch"), "each of them")
			assert.Equal(t, 1, h.record().Attempts, "one attempt, however many picks")
			assert.Equal(t, job.Scheduled, h.record().State)
			assert.Empty(t, h.dispatches())

			h.registry.Sweep()
			r = h.retry(h.handle(req))
			assert.Equal(t, "no_workers", r.ReasonCode, "evicted, it is not stale but gone")
			assert.Equal(t, c.picks, h.metric(`scheduler_stale_worker_retry_total{topic="job.default",worker="worker-1"}`))

			h.worker("worker-1")
			require.NoError(t, h.handle(req))
			assert.Len(t, h.dispatches(), 1)
		})
	}
}

func TestAStaleWorkerIsPreferredWhileItIsListed(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	h.clock.Advance(30*time.Second + 1)
	h.worker("worker-2") // ties go to worker-1
	req := h.submit()
	assert.Equal(t, "no_workers", h.retry(h.handle(req)).ReasonCode)
	h.registry.Sweep()
	require.NoError(t, h.handle(req))
	assert.Equal(t, "worker-2", h.dispatches()[0].WorkerID)
}

// Stale workers, validation runbook: the label of a stale worker is passed over. Where there is nobody else the job meets
// it all the same, and the log says so.
func TestAStaleWorkerIsProbedByItsLabel(t *testing.T) {
	for _, another := range []bool{true, false} {
		h := newHarness(t)
		h.worker("worker-9")
		h.clock.Advance(30*time.Second + 1)
		if another {
			h.worker("worker-1")
		}
		req := h.submit()
		req.Labels = map[string]string{job.LabelPreferredWorker: "worker-9"}
		err := h.handle(req)
		assert.Equal(t, !another, h.logged("stale worker detected, retrying dispatch", "worker-9"))
		if another {
			require.NoError(t, err)
			assert.Equal(t, "worker-1", h.record().Worker)
		} else {
			assert.Equal(t, "no_workers", h.retry(err).ReasonCode)
		}
	}
}

func TestAnOverloadedPoolIsRetried(t *testing.T) {
	h := newHarness(t)
	require.NoError(t, h.HandleHeartbeat(job.Heartbeat{WorkerID: "worker-1", Pool: "default", CPULoad: 95}))
	req := h.submit()
	r := h.retry(h.handle(req))
	assert.Equal(t, "pool_overloaded", r.ReasonCode)
	assert.ErrorIs(t, r, routing.ErrOverloaded)
	assert.Equal(t, time.Second, r.Delay)
	for _, want := range []time.Duration{2, 4, 8, 16, 30, 30} {
		assert.Equal(t, want*time.Second, h.retry(h.handle(req)).Delay, "it doubles, as section 5 has it")
	}
}

func TestATopicSubjectBypassesTheStaleCheck(t *testing.T) {
	h := newHarness(t)
	h.worker("host.1") // no token of a subject
	h.clock.Advance(30*time.Second + 1)
	req := h.submit()
	require.NoError(t, h.handle(req))
	require.Len(t, h.stored(), 1)
	assert.Equal(t, "job.default", h.stored()[0].Subject)
	assert.Empty(t, h.dispatches()[0].WorkerID)
	assert.Equal(t, job.Running, h.record().State)
}

// A compensation's labels and environment say to its worker what it undoes (Scheduler internals, section 4).
func TestADispatchHasTheLabelsAndTheEnvironment(t *testing.T) {
	req := request("job-0")
	req.WorkflowID, req.Compensation = "wf-1", &job.Compensation{Env: map[string]string{"A": "1"}, Labels: map[string]string{"zone": "a"}}
	undo := saga.Template(&req)
	undo.JobID = "job-1"
	ways := map[string]func(t *testing.T) *harness{
		"direct": func(t *testing.T) *harness {
			h := newHarness(t)
			h.worker("worker-1")
			require.NoError(t, h.client().Submit(t.Context(), undo))
			require.NoError(t, h.handle(undo))
			return h
		},
		"resumed": func(t *testing.T) *harness {
			h := newHardened(t)
			require.NoError(t, h.client().Submit(t.Context(), undo))
			h.faults.on(phase.Publish, "before")
			h.retry(h.handle(undo))
			require.NoError(t, h.resume(t.Context(), "job-1"))
			return h
		},
		"outbox": func(t *testing.T) *harness {
			h := newOutbox(t)
			require.NoError(t, h.client().Submit(t.Context(), undo))
			require.NoError(t, h.handle(undo))
			h.relayed()
			return h
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			dispatched := way(t).dispatches()
			require.Len(t, dispatched, 1)
			assert.Equal(t, map[string]string{
				"zone": "a", "saga_compensation": "true", "is_compensation": "true", "saga_workflow_id": "wf-1", "saga_job_id": "job-0",
			}, dispatched[0].Labels)
			assert.Equal(t, map[string]string{"A": "1", "saga_compensation": "true", "saga_workflow_id": "wf-1"}, dispatched[0].Env)
		})
	}
}

// A worker that knows nothing of labels reads what it always has.
func TestADispatchWithoutLabelsSaysNothingOfThem(t *testing.T) {
	h := newHarness(t)
	h.worker("worker-1")
	require.NoError(t, h.handle(h.submit()))
	assert.NotContains(t, string(h.stored()[0].Data), "labels")
	assert.NotContains(t, string(h.stored()[0].Data), "env")
}

// A dispatch is some bytes larger than its request, which another client than ours may have sent: one that the
// server would not take is certainly not stored.
func TestADispatchThatIsTooLargeIsRolledBack(t *testing.T) {
	for name, change := range map[string]func(*settings.Settings){"documented": func(*settings.Settings) {}, "hardened": hardened} {
		h := newHarness(t, change, func(s *settings.Settings) { s.MaxSchedulingRetries = 2 })
		h.worker("worker-1")
		req := request("job-1")
		small, err := json.Marshal(req)
		require.NoError(t, err)
		room := int(h.nc.MaxPayload()) - len(small) - 50 // for the header
		req.Payload = json.RawMessage(`"` + strings.Repeat("x", room) + `"`)
		r := h.retry(h.handle(req))
		require.ErrorIs(t, r, nats.ErrMaxPayload, name)
		assert.Equal(t, job.Scheduled, h.record().State, name)
		require.NoError(t, h.handle(req), name)
		assert.Equal(t, job.Failed, h.record().State, name)
		assert.Equal(t, "max_scheduling_retries", h.dlqEntry().ReasonCode, name)
	}
}
