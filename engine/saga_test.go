package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/safety"
	"github.com/wavetank-sim/wavetank/engine/saga"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// step puts a job of wf-1 into RUNNING, with a compensation.
func (h *harness) step(id string) {
	h.t.Helper()
	c, err := NewClient(ClientConfig{Redis: h.config.Redis, JetStream: h.config.JetStream, Clock: h.clock, Settings: h.config.Settings})
	require.NoError(h.t, err)
	req := request(id)
	req.WorkflowID, req.Compensation = "wf-1", &job.Compensation{}
	require.NoError(h.t, c.Submit(h.t.Context(), req))
	h.redis.HSet("job:"+id, "state", string(job.Running), "attempts", "1")
}

// stepEnds handles the result of a job of wf-1, and waits for what goes on in the background.
func (h *harness) stepEnds(id string, s job.Status) error {
	h.t.Helper()
	err := h.HandleJobResult(h.t.Context(), job.Result{JobID: id, WorkerID: "worker-1", Status: s})
	h.behind.Wait()
	return err
}

// submitted are the compensations that the stream has stored.
func (h *harness) submitted() (list []job.Request) {
	h.t.Helper()
	s, err := h.js.Stream(h.t.Context(), bus.StreamSys)
	require.NoError(h.t, err)
	info, err := s.Info(h.t.Context())
	require.NoError(h.t, err)
	for seq := uint64(1); seq <= info.State.LastSeq; seq++ {
		m, err := s.GetMsg(h.t.Context(), seq)
		require.NoError(h.t, err)
		var req job.Request
		require.NoError(h.t, json.Unmarshal(m.Data, &req))
		if strings.HasPrefix(req.JobID, "comp-") {
			assert.Equal(h.t, req.JobID, m.Header.Get("Job-Id"))
			list = append(list, req)
		}
	}
	return list
}

// undone names the jobs that the stream has compensations of, in order.
func (h *harness) undone() (ids []string) {
	for _, c := range h.submitted() {
		ids = append(ids, c.Labels["saga_job_id"])
	}
	return ids
}

func (h *harness) stack() []string {
	list, _ := h.redis.List("saga:wf-1:stack")
	return list
}

// forBoth runs a test with the documented settings and the hardened ones.
func forBoth(t *testing.T, test func(t *testing.T, h *harness, hardened bool)) {
	t.Run("documented", func(t *testing.T) { test(t, newHarness(t), false) })
	t.Run("hardened", func(t *testing.T) { test(t, newHardened(t), true) })
}

func TestARollbackUndoesTheLastFirst(t *testing.T) {
	forBoth(t, func(t *testing.T, h *harness, _ bool) {
		for _, id := range []string{"job-1", "job-2", "job-3"} {
			h.step(id)
		}
		require.NoError(t, h.stepEnds("job-1", job.StatusSucceeded))
		require.NoError(t, h.stepEnds("job-2", job.StatusSucceeded))
		require.Len(t, h.stack(), 2)
		require.NoError(t, h.stepEnds("job-3", job.StatusFailedFatal))
		assert.Equal(t, []string{"job-2", "job-1"}, h.undone())
		for _, c := range h.submitted() {
			assert.Equal(t, "CRITICAL", c.Priority)
			assert.Equal(t, "true", c.Labels["is_compensation"])
			assert.NoError(t, c.Validate())
		}
		assert.Empty(t, h.stack())
		assert.False(t, h.redis.Exists("saga:wf-1:lock"))
		for name, n := range map[string]float64{
			"saga_recorded": 2, "saga_rollback_triggered": 1, "saga_compensation_dispatched": 2, "saga_compensation_failed": 0,
			"saga_rollback_duration": 1, "saga_active": 0, "saga_unmarshal_error": 0,
		} {
			assert.InDelta(t, n, h.metric(name), 0, name)
		}
	})
}

func TestOnlyAFatalFailureOfAWorkflowRollsBack(t *testing.T) {
	forBoth(t, func(t *testing.T, h *harness, _ bool) {
		h.step("job-1")
		h.step("job-2")
		require.NoError(t, h.stepEnds("job-1", job.StatusSucceeded))
		require.NoError(t, h.stepEnds("job-2", job.StatusFailed))
		assert.Empty(t, h.undone())
		h.alone("job-3") // of no workflow
		require.NoError(t, h.stepEnds("job-3", job.StatusFailedFatal))
		assert.Len(t, h.stack(), 1)
		assert.Empty(t, h.undone())
	})
}

// alone puts a job of no workflow into RUNNING.
func (h *harness) alone(id string) {
	h.t.Helper()
	c, err := NewClient(ClientConfig{Redis: h.config.Redis, JetStream: h.config.JetStream, Clock: h.clock, Settings: h.config.Settings})
	require.NoError(h.t, err)
	require.NoError(h.t, c.Submit(h.t.Context(), request(id)))
	h.redis.HSet("job:"+id, "state", string(job.Running), "attempts", "1")
}

// The documented order records first, and once more when the state write failed.
func TestARedeliveredResultRecordsOnce(t *testing.T) {
	forBoth(t, func(t *testing.T, h *harness, hardened bool) {
		h.step("job-1")
		h.faults.on(phase.ResultWrite, "ok", "ok", "before")
		if !hardened {
			h.faults.script[phase.ResultWrite] = []string{"before"}
		}
		h.retry(h.stepEnds("job-1", job.StatusSucceeded))
		require.NoError(t, h.stepEnds("job-1", job.StatusSucceeded))
		if hardened {
			assert.Len(t, h.stack(), 1)
		} else {
			assert.Len(t, h.stack(), 2)
		}
		assert.EqualValues(t, len(h.stack()), h.metric("saga_recorded"))
	})
}

// A job whose output is quarantined has had its effect, and is undone like any other.
func TestAQuarantinedJobIsRecordedAndCounted(t *testing.T) {
	h, p := newChecked(t, hardened)
	p.meta = answers(quarantines, "")
	h.step("job-2")
	require.NoError(t, h.redis.Set("res:job-2", "the output"))
	require.NoError(t, h.HandleJobResult(t.Context(), job.Result{JobID: "job-2", WorkerID: "worker-1", Status: job.StatusSucceeded, ResultPtr: "res:job-2"}))
	h.behind.Wait()
	rec, err := h.store.Read(t.Context(), "job-2")
	require.NoError(t, err)
	require.Equal(t, job.OutputQuarantined, rec.State)
	require.Len(t, h.stack(), 1)
	assert.EqualValues(t, 1, h.metric("saga_recorded"))
}

// Scheduler internals, section 2: the metadata are checked once the compensation is recorded. With the record in the MULTI
// of SUCCEEDED (saga.atomic_record) it is the other way about.
func TestTheCompensationIsRecordedAheadOfTheCheck(t *testing.T) {
	h, _ := newChecked(t)
	h.step("job-2")
	require.NoError(t, h.redis.Set("res:job-2", "the output"))
	recorded := 0
	h.faults.first[phase.OutputCheck] = func() { recorded = len(h.stack()) }
	require.NoError(t, h.HandleJobResult(t.Context(), job.Result{JobID: "job-2", WorkerID: "worker-1", Status: job.StatusSucceeded, ResultPtr: "res:job-2"}))
	h.behind.Wait()
	assert.Equal(t, 1, recorded)
}

func TestARecordThatFailsIsRetried(t *testing.T) {
	h := newHarness(t)
	h.step("job-1")
	h.faults.on(phase.SagaRecord, "before")
	assert.Equal(t, phase.SagaRecord, h.retry(h.stepEnds("job-1", job.StatusSucceeded)).Phase)
	assert.Empty(t, h.stack())
	require.NoError(t, h.stepEnds("job-1", job.StatusSucceeded))
	assert.Len(t, h.stack(), 1)
}

// WEAKNESSES 7: what was popped and not published is gone, unless it is only looked at.
func TestAPublishThatFails(t *testing.T) {
	for _, how := range []string{"before", "after"} {
		forBoth(t, func(t *testing.T, h *harness, hardened bool) {
			for _, id := range []string{"job-1", "job-2", "job-3"} {
				h.step(id)
			}
			require.NoError(t, h.stepEnds("job-1", job.StatusSucceeded))
			require.NoError(t, h.stepEnds("job-2", job.StatusSucceeded))
			h.faults.on(phase.SagaPublish, how)
			require.NoError(t, h.stepEnds("job-3", job.StatusFailedFatal))
			assert.EqualValues(t, 1, h.metric("saga_compensation_failed"))
			assert.Zero(t, h.metric("saga_active"), "one that ends in an error is over, too")
			if !hardened {
				assert.Empty(t, h.stack())
				return
			}
			assert.Len(t, h.stack(), 2, "those below wait")
			require.NoError(t, h.saga.Rollback(t.Context(), "wf-1"))
			assert.Empty(t, h.stack())
			assert.Equal(t, []string{"job-2", "job-1"}, slices.Compact(h.undone()))
			ids := map[string]bool{}
			for _, c := range h.submitted() {
				ids[c.JobID] = true
			}
			assert.Len(t, ids, 2, "a repetition is the same job")
		})
	}
}

// Denied it is skipped, with a word in the audit trail; without a decision it goes on.
func TestTheSafetyCheckOfACompensationIsSoft(t *testing.T) {
	forBoth(t, func(t *testing.T, h *harness, _ bool) {
		h.saga.Check = func(_ context.Context, req *job.Request) (safety.Verdict, error) {
			v, decided := map[string]safety.Verdict{
				"job-2": {Decision: safety.Deny, Reason: "it stays", Snapshot: "sha256:1"},
				"job-3": {Decision: safety.Allow, Snapshot: "sha256:1"},
				"job-4": {Decision: safety.AllowWithConstraints, Snapshot: "sha256:1"},
			}[req.Labels["saga_job_id"]]
			if !decided {
				return safety.Verdict{}, safety.ErrUnavailable
			}
			return v, nil
		}
		steps := []string{"job-1", "job-2", "job-3", "job-4", "job-5"}
		for _, id := range steps {
			h.step(id)
		}
		for _, id := range steps[:4] {
			require.NoError(t, h.stepEnds(id, job.StatusSucceeded))
		}
		require.NoError(t, h.stepEnds("job-5", job.StatusFailedFatal))
		assert.Equal(t, []string{"job-4", "job-3", "job-1"}, h.undone())
		assert.Empty(t, h.stack())
		trail, err := h.redis.List("cordum:audit")
		require.NoError(t, err)
		require.Len(t, trail, 1)
		assert.Contains(t, trail[0], `"kind":"saga_compensation_denied"`)
		assert.Contains(t, trail[0], `"reason_code":"safety_denied"`)
		assert.Contains(t, trail[0], saga.Key("wf-1", "job-2", "job.default", "", 0)+" of saga wf-1: it stays")
	})
}

func TestWhatCannotBeReadGoesToTheDLQ(t *testing.T) {
	forBoth(t, func(t *testing.T, h *harness, _ bool) {
		h.step("job-1")
		h.step("job-2")
		require.NoError(t, h.stepEnds("job-1", job.StatusSucceeded))
		_, err := h.redis.Push("saga:wf-1:stack", "no JSON", `{"topic":"job..default"}`)
		require.NoError(t, err)
		require.NoError(t, h.stepEnds("job-2", job.StatusFailedFatal))
		assert.Equal(t, []string{"job-1"}, h.undone(), "the rollback goes on")
		assert.EqualValues(t, 2, h.metric("saga_unmarshal_error"))
		entries := 0
		for _, key := range h.redis.Keys() {
			if id, is := strings.CutPrefix(key, "dlq:entry:saga-"); is {
				e, err := h.dlq.Get(t.Context(), "saga-"+id)
				require.NoError(t, err)
				assert.Equal(t, "saga_unmarshal_failed", e.ReasonCode)
				assert.Equal(t, dlq.StatusTerminated, e.Status)
				assert.Equal(t, "saga:wf-1:stack", e.Topic)
				entries++
			}
		}
		assert.Equal(t, 2, entries)
		assert.True(t, h.logged("compensation cannot be submitted", "saga_unmarshal_failed", "wf-1"))
	})
}

// WEAKNESSES 8: the lock is another's once it has expired, and stays with that.
func TestTheLockOfARollback(t *testing.T) {
	forBoth(t, func(t *testing.T, h *harness, _ bool) {
		h.step("job-1")
		require.NoError(t, h.stepEnds("job-1", job.StatusSucceeded))
		require.NoError(t, h.redis.Set("saga:wf-1:lock", "another"))
		require.ErrorIs(t, h.saga.Rollback(t.Context(), "wf-1"), lock.ErrBusy)
		assert.Zero(t, h.metric("saga_rollback_triggered"), "it did not begin")
		assert.Len(t, h.stack(), 1)
		h.redis.Del("saga:wf-1:lock")
		h.faults.on(phase.SagaLock, "before")
		require.ErrorIs(t, h.saga.Rollback(t.Context(), "wf-1"), errInjected, "who cannot ask for it does not hold it")
		assert.Len(t, h.stack(), 1)
		h.faults.calls = nil
		h.faults.first[phase.SagaPublish] = func() {
			assert.Equal(t, 2*time.Minute, h.redis.TTL("saga:wf-1:lock"))
			for _, call := range h.faults.calls {
				assert.NotContains(t, call, "eval", "it is not renewed")
			}
			_ = h.redis.Set("saga:wf-1:lock", "another")
		}
		require.NoError(t, h.saga.Rollback(t.Context(), "wf-1"))
		assert.Len(t, h.undone(), 1)
		owner, err := h.redis.Get("saga:wf-1:lock")
		require.NoError(t, err)
		assert.Equal(t, "another", owner)
		assert.True(t, h.logged("saga lock release failed"))
	})
}

// Neither a rollback nor the scan of an output keeps the result waiting that it follows.
func TestWhatGoesOnInTheBackground(t *testing.T) {
	results := map[phase.Phase]func(t *testing.T) (h *harness, result func() error){
		phase.SagaLock: func(t *testing.T) (*harness, func() error) {
			h := newHarness(t)
			h.step("job-1")
			return h, func() error {
				return h.HandleJobResult(t.Context(), job.Result{JobID: "job-1", WorkerID: "worker-1", Status: job.StatusFailedFatal})
			}
		},
		phase.OutputScan: func(t *testing.T) (*harness, func() error) {
			h, _ := newChecked(t)
			return h, h.succeeds
		},
	}
	for p, start := range results {
		h, result := start(t)
		going, goOn, handled := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		h.faults.atFirst(p, func() { close(going); <-goOn })
		go func() { handled <- result() }()
		soon(t, going, string(p))
		require.NoError(t, soon(t, handled, "the result is handled meanwhile"))
		close(goOn)
		h.behind.Wait()
	}
}

// Each compensation is a job of its own.
func TestCompensationsHaveIDsOfTheirOwn(t *testing.T) {
	h := newHarnessOn(t, func(h *harness) { h.config.Random = cryptoRandom{} })
	for _, id := range []string{"job-1", "job-2"} {
		h.step(id)
		require.NoError(t, h.stepEnds(id, job.StatusSucceeded))
	}
	require.NoError(t, h.saga.Rollback(t.Context(), "wf-1"))
	list := h.submitted()
	require.Len(t, list, 2)
	assert.Regexp(t, "^comp-[0-9a-f]{16}$", list[0].JobID)
	assert.NotEqual(t, list[0].JobID, list[1].JobID)
}

// A rollback has 30 s, and none once its replica stops.
func TestARollbackEnds(t *testing.T) {
	h := newHardened(t)
	for _, id := range []string{"job-1", "job-2"} {
		h.step(id)
		require.NoError(t, h.stepEnds(id, job.StatusSucceeded))
	}
	h.faults.first[phase.SagaPublish] = func() { h.clock.Advance(30 * time.Second) }
	require.ErrorIs(t, h.saga.Rollback(t.Context(), "wf-1"), saga.ErrUnfinished)
	assert.Equal(t, []string{"job-2"}, h.undone())
	stopped, stop := context.WithCancel(t.Context())
	stop()
	h.step("job-3")
	require.NoError(t, h.stepEnds("job-3", job.StatusSucceeded))
	require.ErrorIs(t, h.saga.Rollback(stopped, "wf-1"), saga.ErrUnfinished)
	assert.Equal(t, []string{"job-2", "job-3"}, h.undone(), "what was begun is done")
	assert.False(t, h.redis.Exists("saga:wf-1:lock"))
}

func TestAStopFinishesWhatIsNotKept(t *testing.T) {
	h := newHarness(t)
	run, stop := context.WithCancel(t.Context())
	run = context.WithValue(run, lifeKey{}, run)
	stop()
	for _, kept := range []bool{true, false} {
		h.background(run, kept, func(ctx context.Context) { assert.Equal(t, kept, ctx.Err() != nil) })
	}
	h.behind.Wait()
}

// A compensation has its record before its message, so that the pending replayer finds it should the message be given up.
func TestARollbackRecordsWhatItSubmits(t *testing.T) {
	forBoth(t, func(t *testing.T, h *harness, hardened bool) {
		h.step("job-1")
		require.NoError(t, h.stepEnds("job-1", job.StatusSucceeded))
		h.step("job-2")
		require.NoError(t, h.stepEnds("job-2", job.StatusFailedFatal))
		require.Len(t, h.submitted(), 1)
		rec, err := h.store.Read(t.Context(), h.submitted()[0].JobID)
		if !hardened {
			require.ErrorIs(t, err, store.ErrNotFound)
			return
		}
		require.NoError(t, err)
		assert.Equal(t, job.Pending, rec.State)
	})
}

// What is to be rolled back is noted with FAILED, goes out of sight once the stack is empty, and comes back
// when another job of the workflow succeeds.
func TestADurableRollback(t *testing.T) {
	h := newHardened(t)
	h.step("job-1")
	h.step("job-2")
	h.step("job-3")
	require.NoError(t, h.stepEnds("job-1", job.StatusSucceeded))
	assert.False(t, h.redis.Exists("saga:rollbacks"))
	h.faults.on(phase.SagaLock, "before")
	require.NoError(t, h.stepEnds("job-2", job.StatusFailedFatal))
	due := func() time.Duration {
		score, err := h.redis.ZScore("saga:rollbacks", "wf-1")
		require.NoError(t, err)
		return time.UnixMilli(int64(score)).Sub(h.clock.Now())
	}
	assert.Equal(t, 30*time.Second, due())
	assert.Empty(t, h.undone())
	require.NoError(t, h.saga.Rollback(t.Context(), "wf-1"))
	assert.Equal(t, []string{"job-1"}, h.undone())
	assert.Greater(t, due(), 365*24*time.Hour)
	require.NoError(t, h.stepEnds("job-3", job.StatusSucceeded))
	assert.Zero(t, due(), "there is more to undo")
	require.NoError(t, h.saga.Rollback(t.Context(), "wf-1"))
	assert.Equal(t, []string{"job-1", "job-3"}, h.undone())
}

// Something that is recorded while a rollback closes keeps it open.
func TestARollbackDoesNotCloseOverANewCompensation(t *testing.T) {
	h := newHardened(t)
	h.step("job-1")
	h.step("job-2")
	require.NoError(t, h.stepEnds("job-1", job.StatusFailedFatal))
	_, err := h.redis.ZAdd("saga:rollbacks", 1, "wf-1")
	require.NoError(t, err)
	h.faults.first[phase.SagaClose] = func() { require.NoError(t, h.stepSucceeds("job-2")) }
	require.NoError(t, h.saga.Rollback(t.Context(), "wf-1"))
	assert.Equal(t, []string{"job-2"}, h.undone())
	assert.Empty(t, h.stack())
}

// stepSucceeds is a success that nobody waits for.
func (h *harness) stepSucceeds(id string) error {
	return h.HandleJobResult(h.t.Context(), job.Result{JobID: id, WorkerID: "worker-1", Status: job.StatusSucceeded})
}

// A running engine's reconciler takes up what nobody is at.
func TestTheReconcilerTakesUpARollback(t *testing.T) {
	h := newHardened(t)
	h.step("job-1")
	h.step("job-2")
	require.NoError(t, h.stepEnds("job-1", job.StatusSucceeded))
	h.faults.on(phase.SagaLock, "before")
	require.NoError(t, h.stepEnds("job-2", job.StatusFailedFatal))
	require.Empty(t, h.undone())
	stop := h.run()
	require.NoError(t, h.clock.BlockUntilContext(t.Context(), 1))
	for !h.logged("compensation submitted", "wf-1") {
		h.clock.Advance(31 * time.Second)
		time.Sleep(time.Millisecond)
	}
	require.NoError(t, stop())
	assert.Equal(t, []string{"job-1"}, h.undone())
}

// What a job has done after it had ended otherwise is undone with the rest, once.
func TestASuccessAfterAllIsCompensatedOnce(t *testing.T) {
	for _, end := range []job.State{job.Timeout, job.Failed, job.Cancelled} {
		t.Run(string(end), func(t *testing.T) {
			forBoth(t, func(t *testing.T, h *harness, hardened bool) {
				h.step("job-1")
				h.step("job-2")
				h.redis.HSet("job:job-1", "state", string(end))
				require.NoError(t, h.stepEnds("job-2", job.StatusFailedFatal))
				require.NoError(t, h.stepEnds("job-1", job.StatusFailed))
				if !hardened {
					require.NoError(t, h.stepEnds("job-1", job.StatusSucceeded))
					assert.Empty(t, h.stack())
					return
				}
				h.faults.on(phase.SagaRecord, "before")
				assert.Equal(t, phase.SagaRecord, h.retry(h.stepEnds("job-1", job.StatusSucceeded)).Phase)
				assert.Empty(t, h.stack())
				h.faults.on(phase.SagaRecord, "ok", "ok", "after")
				h.retry(h.stepEnds("job-1", job.StatusSucceeded)) // it is recorded, though the caller does not know
				require.NoError(t, h.stepEnds("job-1", job.StatusSucceeded))
				assert.Len(t, h.stack(), 1)
				require.NoError(t, h.saga.Rollback(t.Context(), "wf-1"))
				require.NoError(t, h.stepEnds("job-1", job.StatusSucceeded))
				assert.Empty(t, h.stack())
				assert.Equal(t, []string{"job-1"}, h.undone())
				assert.Equal(t, string(end), h.redis.HGet("job:job-1", "state"), "the state stays (Scheduler internals, section 1)")
			})
		})
	}
}

func TestASuccessRecordsNothingTwice(t *testing.T) {
	forBoth(t, func(t *testing.T, h *harness, _ bool) {
		h.step("job-1")
		h.alone("job-2")
		require.NoError(t, h.stepEnds("job-1", job.StatusSucceeded))
		require.NoError(t, h.stepEnds("job-1", job.StatusSucceeded))
		assert.Len(t, h.stack(), 1)
		h.redis.HSet("job:job-2", "state", string(job.Timeout))
		require.NoError(t, h.stepEnds("job-2", job.StatusSucceeded), "it is of no workflow")
		assert.Equal(t, 30*24*time.Hour, h.redis.TTL("saga:wf-1:stack"))
	})
}

// A key that a request names is one within its workflow, and a workflow's id one within its tenant.
func TestSagasMayShareAKey(t *testing.T) {
	h := newHardened(t)
	sagas := []struct{ tenant, workflow, name string }{{"", "wf-1", "wf-1"}, {"", "wf-2", "wf-2"}, {"b", "wf-2", "b:wf-2"}, {"default", "b:wf-2", "default:b:wf-2"}, {"b:wf", "-2", "b%3Awf:-2"}}
	for i, of := range sagas {
		req := request(fmt.Sprintf("job-%d", i))
		req.WorkflowID, req.Tenant, req.Compensation = of.workflow, of.tenant, &job.Compensation{IdempotencyKey: "refund"}
		require.NoError(t, h.client().Submit(t.Context(), req))
		h.redis.HSet("job:"+req.JobID, "state", string(job.Running), "attempts", "1")
		require.NoError(t, h.stepEnds(req.JobID, job.StatusSucceeded))
	}
	ids := map[string]bool{}
	for i, of := range sagas {
		require.NoError(t, h.saga.Rollback(t.Context(), of.name))
		list := h.submitted()
		require.Len(t, list, i+1, "it undoes what its own workflow has done")
		c := list[i]
		assert.Equal(t, of.tenant, c.Tenant)
		assert.Equal(t, "refund", c.IdempotencyKey)
		ids[c.JobID] = true
	}
	assert.Len(t, ids, len(sagas))
}

// A compensation with more bytes than the server takes holds nobody up.
func TestACompensationThatIsTooLargeGoesToTheDLQ(t *testing.T) {
	forBoth(t, func(t *testing.T, h *harness, hardened bool) {
		for _, id := range []string{"job-1", "job-2", "job-3"} {
			h.step(id)
		}
		require.NoError(t, h.stepEnds("job-1", job.StatusSucceeded))
		require.NoError(t, h.stepEnds("job-2", job.StatusSucceeded))
		h.faults.on(phase.SagaPublish, "too large")
		require.NoError(t, h.stepEnds("job-3", job.StatusFailedFatal))
		assert.Equal(t, []string{"job-1"}, h.undone(), "the rollback goes on")
		assert.Empty(t, h.stack())
		assert.EqualValues(t, 1, h.metric("saga_compensation_failed"))
		assert.Zero(t, h.metric("saga_unmarshal_error"))
		entries := slices.DeleteFunc(h.redis.Keys(), func(key string) bool { return !strings.HasPrefix(key, "dlq:entry:saga-") })
		require.Len(t, entries, 1)
		e, err := h.dlq.Get(t.Context(), strings.TrimPrefix(entries[0], "dlq:entry:"))
		require.NoError(t, err)
		assert.Equal(t, "dispatch_failed", e.ReasonCode)
		assert.Contains(t, e.Reason, `"saga_job_id":"job-2"`)
	})
}
