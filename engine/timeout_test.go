package engine

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

func recheck(s *settings.Settings) { s.RecheckTimeouts = true }

func hardened(s *settings.Settings) {
	op, publish := s.StoreOpTimeout, s.PublishTimeout
	*s = settings.Hardened()
	s.WaitReplica = false // miniredis has none
	s.StoreOpTimeout, s.PublishTimeout = op, publish
}

// reconcile times job-1 out as the reconciler would that has listed it now and finds it overdue.
func (h *harness) reconcile() error {
	h.t.Helper()
	rec := h.record()
	return h.timeOut(h.t.Context(), &rec, "overdue by the list")
}

// lostDispatch leaves job-1 DISPATCHED to nobody: its publish and its rollback fail.
func (h *harness) lostDispatch() {
	h.t.Helper()
	h.worker("worker-1")
	h.faults.on(phase.Publish, "before")
	h.faults.on(phase.RollbackWrite, "before")
	require.Error(h.t, h.handle(h.submit()))
	require.Equal(h.t, job.Dispatched, h.record().State)
	h.faults.calls = nil
}

func TestATimeoutIsWrittenWithItsReason(t *testing.T) {
	for name, change := range map[string]func(*settings.Settings){"documented": func(*settings.Settings) {}, "recheck_timeouts": recheck, "hardened": hardened} {
		h := newHarness(t, change, func(s *settings.Settings) { s.RetryUnpublished = false })
		h.lostDispatch()
		h.clock.Advance(h.settings.DispatchTimeout)
		require.NoError(t, h.reconcile(), name)
		rec := h.record()
		assert.Equal(t, job.Timeout, rec.State, name)
		assert.Equal(t, "timeout", rec.ReasonCode, name)
		want := "DISPATCHED for 5m0s, at most 5m0s"
		if name == "documented" {
			want = "overdue by the list"
		}
		assert.Equal(t, want, rec.Reason, name)
		assert.EqualValues(t, 1, h.metric(`jobs_completed{status="TIMEOUT",topic="job.default"}`), name)
		assert.True(t, h.logged("job timed out", `"from":"DISPATCHED"`, `"worker_id":"worker-1"`), name)
		h.unlocked()
	}
}

// So is that of a job that was RUNNING, and at its second attempt.
func TestATimeoutOfARunningJobHasItsReason(t *testing.T) {
	for want, change := range map[string]func(*settings.Settings){"overdue by the list": func(*settings.Settings) {}, "RUNNING for 30m0s, at most 30m0s": recheck} {
		h := newHarness(t, change)
		h.submit()
		h.force(job.Running, 2)
		h.clock.Advance(h.settings.RunningTimeout)
		require.NoError(t, h.reconcile())
		rec := h.record()
		assert.Equal(t, job.Timeout, rec.State)
		assert.Equal(t, "timeout", rec.ReasonCode)
		assert.Equal(t, want, rec.Reason)
	}
}

// WEAKNESSES 5: a job leaves DISPATCHED for RUNNING between the reconciler's list and its write.
func TestAJobThatHasMovedOnSinceItWasListed(t *testing.T) {
	for recheck, want := range map[bool]job.State{true: job.Running, false: job.Timeout} {
		h := newHarness(t, func(s *settings.Settings) { s.RecheckTimeouts = recheck })
		h.worker("worker-1")
		require.NoError(t, h.handle(h.submit()))
		listed := h.record()
		listed.State, listed.Version = job.Dispatched, listed.Version-1
		require.NoError(t, h.timeOut(t.Context(), &listed, "x"))
		assert.Equal(t, want, h.record().State)
		for _, s := range job.States {
			members, _ := h.redis.ZMembers("job:index:" + string(s))
			assert.Equal(t, s == want, len(members) == 1, "index of %s", s)
		}
	}
}

func TestAJobThatIsOverWhenItsTimeoutComes(t *testing.T) {
	h := newHarness(t, recheck)
	h.worker("worker-1")
	require.NoError(t, h.handle(h.submit()))
	listed := h.record()
	require.NoError(t, h.result(job.StatusSucceeded))
	h.clock.Advance(h.settings.RunningTimeout)
	require.NoError(t, h.timeOut(t.Context(), &listed, "x"))
	assert.Equal(t, job.Succeeded, h.record().State)
	require.NoError(t, h.timeOut(t.Context(), &store.Record{JobID: "unheard-of"}, "x"))
}

func TestATimeoutThatCannotBeCarriedOut(t *testing.T) {
	for _, p := range []phase.Phase{phase.LockAcquire, phase.TimeoutRead, phase.TimeoutWrite} {
		h := newHarness(t, recheck)
		h.lostDispatch()
		h.clock.Advance(h.settings.DispatchTimeout)
		h.faults.on(p, "before")
		assert.Equal(t, p, h.retry(h.reconcile()).Phase)
		assert.Equal(t, job.Dispatched, h.record().State)
		require.NoError(t, h.reconcile())
		assert.Equal(t, job.Timeout, h.record().State)
	}
}

// With epochs the dispatch's place in the stream decides between a publish that may yet come and the
// timeout.
func TestATimeoutOfADispatchThatWasStoredAfterAll(t *testing.T) {
	h := newHarness(t, hardened)
	h.worker("worker-1")
	h.faults.on(phase.Publish, "after")
	require.Error(t, h.handle(h.submit()))
	require.Equal(t, job.Dispatched, h.record().State)
	h.clock.Advance(h.settings.DispatchTimeout)
	require.NoError(t, h.reconcile())
	assert.Equal(t, job.Running, h.record().State, "it has its worker's time")
	assert.Equal(t, "worker-1", h.record().Worker)
	assert.Len(t, h.dispatches(), 1)
	h.clock.Advance(h.settings.RunningTimeout)
	require.NoError(t, h.reconcile())
	assert.Equal(t, job.Timeout, h.record().State)
}

// A deadline gives nobody time: the job ends in the poll that finds it, whoever has its dispatch.
func TestADeadlineOfADispatchThatWasStoredAfterAll(t *testing.T) {
	h := newHarness(t, hardened)
	h.worker("worker-1")
	c, err := NewClient(ClientConfig{Redis: h.config.Redis, JetStream: h.config.JetStream, Clock: h.clock, Settings: h.config.Settings})
	require.NoError(t, err)
	req := request("job-1")
	req.Budget = &job.Budget{DeadlineMS: h.settings.RunningTimeout.Milliseconds() * 2}
	require.NoError(t, c.Submit(t.Context(), req))
	h.faults.on(phase.RunningWrite, "before")
	require.Error(t, h.handle(req))
	h.clock.Advance(h.settings.RunningTimeout + time.Second) // counts from RUNNING on
	require.NoError(t, h.reconcile())
	require.Equal(t, job.Running, h.record().State)

	h.force(job.Dispatched, 1)
	h.clock.Advance(h.settings.RunningTimeout)
	require.NoError(t, h.reconcile())
	assert.Equal(t, job.Timeout, h.record().State)
	assert.Contains(t, h.record().Reason, "past its deadline")
	assert.False(t, h.redis.Exists("job:deadlines"))
}

func TestATimeoutWhoseVoidOrRunningFails(t *testing.T) {
	for p, published := range map[phase.Phase]string{phase.VoidPublish: "before", phase.RunningWrite: "after"} {
		h := newHarness(t, hardened)
		h.worker("worker-1")
		h.faults.on(phase.Publish, published)
		require.Error(t, h.handle(h.submit()))
		h.clock.Advance(h.settings.DispatchTimeout)
		h.faults.on(p, "before")
		assert.Equal(t, p, h.retry(h.reconcile()).Phase)
		assert.Equal(t, job.Dispatched, h.record().State)
		require.NoError(t, h.reconcile())
		assert.NotEqual(t, job.Dispatched, h.record().State)
	}
}

func TestADeadlineEndsAJobWhereverItIs(t *testing.T) {
	for _, s := range []job.State{job.Pending, job.ApprovalRequired, job.Scheduled, job.Dispatched, job.Running} {
		h := newHarness(t, hardened)
		c, err := NewClient(ClientConfig{Redis: h.config.Redis, JetStream: h.config.JetStream, Clock: h.clock, Settings: h.config.Settings})
		require.NoError(t, err)
		req := request("job-1")
		req.Budget = &job.Budget{DeadlineMS: 60_000}
		require.NoError(t, c.Submit(t.Context(), req))
		h.force(s, 0)
		h.clock.Advance(time.Minute - time.Millisecond)
		require.NoError(t, h.reconcile())
		assert.Equal(t, s, h.record().State)
		h.clock.Advance(time.Millisecond)
		require.NoError(t, h.reconcile())
		assert.Equal(t, job.Timeout, h.record().State)
		assert.Equal(t, string(s)+" 0s past its deadline", h.record().Reason)
		assert.False(t, h.redis.Exists("job:deadlines"))
	}
}

// The reconciler may find its lock taken at every tick, by handlings that follow one another.
func TestAHandlingEndsAJobThatIsPastItsDeadline(t *testing.T) {
	for _, s := range []job.State{job.Pending, job.Scheduled, job.Dispatched, job.Running} {
		for _, rechecks := range []bool{true, false} {
			h := newHardened(t, func(s *settings.Settings) { s.RecheckTimeouts = rechecks })
			h.submit()
			h.force(s, 0)
			h.redis.HSet("job:job-1", "deadline_at", strconv.FormatInt(h.clock.Now().Add(time.Minute).UnixMilli(), 10))
			h.clock.Advance(time.Minute)
			err := h.handle(request("job-1"))
			if rechecks {
				require.NoError(t, err)
				assert.Equal(t, string(s)+" 0s past its deadline", h.record().Reason)
			}
			assert.Equal(t, rechecks, h.record().State == job.Timeout, "%s, rechecks %v", s, rechecks)
		}
	}
}

// NATS may have been away for as long as that: nobody has had the job.
func TestADispatchThatWasNeverPublishedIsScheduledAgain(t *testing.T) {
	h := newHardened(t)
	req := h.submit()
	h.faults.on(phase.Publish, "before")
	h.retry(h.handle(req))
	h.clock.Advance(h.settings.DispatchTimeout)
	require.NoError(t, h.reconcile())
	assert.Equal(t, job.Scheduled, h.record().State)
	assert.Equal(t, 2, h.record().Attempts)
	assert.Empty(t, h.record().Worker)
	require.Len(t, h.voids(), 1)
	var v job.Void
	require.NoError(t, json.Unmarshal(h.voids()[0].Data, &v))
	assert.Equal(t, job.Void{JobID: "job-1", Topic: "job.default", Epoch: 1, End: job.Scheduled, Reason: "DISPATCHED for 5m0s, at most 5m0s"}, v)
	assert.EqualValues(t, 1, h.metric(`scheduler_dispatch_rollback_total{topic="job.default"}`))
	h.unlocked()

	h.worker("worker-1")
	require.NoError(t, h.handle(req))
	assert.Equal(t, job.Running, h.record().State)
	assert.EqualValues(t, 2, h.record().Epoch)
}

func TestADispatchThatWasNeverPublishedAtTheCeiling(t *testing.T) {
	h := newHardened(t)
	h.submit()
	h.intended("worker-1")
	h.redis.HSet("job:job-1", "attempts", strconv.Itoa(h.settings.MaxSchedulingRetries))
	h.clock.Advance(h.settings.DispatchTimeout)
	require.NoError(t, h.reconcile())
	assert.Equal(t, job.Failed, h.record().State)
	assert.Equal(t, "max_scheduling_retries", h.dlqEntry().ReasonCode)
}

// Whoever meets the void next goes on, be it the reconciler or not.
func TestAJobOnItsWayBackToScheduledIsTakenUpAgain(t *testing.T) {
	for _, p := range []phase.Phase{phase.VoidPublish, phase.RollbackWrite} {
		for name, meet := range map[string]func(h *harness, req job.Request){
			"reconciler": func(h *harness, _ job.Request) { require.NoError(t, h.reconcile()) },
			"redelivery": func(h *harness, req job.Request) { h.retry(h.handle(req)) },
			"resumption": func(h *harness, _ job.Request) { h.retry(h.resume(t.Context(), "job-1")) },
		} {
			h := newHardened(t)
			req := h.submit()
			h.faults.on(phase.Publish, "before")
			h.retry(h.handle(req))
			h.clock.Advance(h.settings.DispatchTimeout)
			h.worker("worker-1")
			h.faults.on(p, map[phase.Phase]string{phase.VoidPublish: "after", phase.RollbackWrite: "before"}[p])
			assert.Equal(t, p, h.retry(h.reconcile()).Phase, name)
			assert.Equal(t, job.Dispatched, h.record().State, name)
			meet(h, req)
			assert.Equal(t, job.Scheduled, h.record().State, name)
			assert.Equal(t, 2, h.record().Attempts, name)
			assert.Len(t, h.stored(), 1, name)
		}
	}
}

func TestWhatTimesOutThoughNothingWasPublished(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*settings.Settings)
		meet   func(*harness)
		says   string
	}{
		"the setting":   {change: func(s *settings.Settings) { s.RetryUnpublished = false }},
		"no resumption": {change: func(s *settings.Settings) { s.ResumeIntents = false }},
		"no void":       {change: func(s *settings.Settings) { s.VoidIntents = false }},
		"no epochs":     {change: func(s *settings.Settings) { s.Epochs = false }},
		"the outbox":    {change: func(s *settings.Settings) { s.DispatchOrder = settings.Outbox }},
		"a topic":       {meet: func(h *harness) { h.redis.HDel("job:job-1", "worker") }},
		"no request":    {meet: func(h *harness) { h.redis.HSet("job:job-1", "request", "not JSON") }},
		"a stream that takes no void": {meet: func(h *harness) {
			h.faults.on(phase.VoidPublish, "refused", "refused")
		}},
		"a deadline": {says: "DISPATCHED 0s past its deadline", meet: func(h *harness) {
			h.redis.HSet("job:job-1", "deadline_at", strconv.FormatInt(h.clock.Now().UnixMilli(), 10))
		}},
	} {
		h := newHardened(t, func(s *settings.Settings) {
			if c.change != nil {
				c.change(s)
			}
		})
		h.submit()
		h.intended("worker-1")
		h.clock.Advance(h.settings.DispatchTimeout)
		if c.meet != nil {
			c.meet(h)
		}
		require.NoError(t, h.reconcile(), name)
		assert.Equal(t, job.Timeout, h.record().State, name)
		if c.says != "" {
			assert.Equal(t, c.says, h.record().Reason, name)
		}
	}
}

// No answer, as between two leaders of the stream, is no refusal.
func TestAVoidThatNobodyAnswersIsTriedAgain(t *testing.T) {
	for _, act := range []func(h *harness) error{(*harness).cancel, (*harness).reconcile} {
		h := newHardened(t)
		h.submit()
		h.intended("worker-1")
		h.clock.Advance(h.settings.DispatchTimeout)
		h.faults.on(phase.VoidPublish, "unanswered")
		assert.Equal(t, phase.VoidPublish, h.retry(act(h)).Phase)
		assert.Equal(t, job.Dispatched, h.record().State)
		require.NoError(t, act(h))
		assert.Len(t, h.voids(), 1)
	}
}

// The blind window of Dispatch ordering ends with the first tick after the dispatch timeout.
func TestRunTimesOutWhatStaysDispatched(t *testing.T) {
	for topics, window := range map[settings.TopicTimeouts]time.Duration{"": 300 * time.Second, "job.default=20s": 30 * time.Second} {
		h := newHarness(t, hardened, func(s *settings.Settings) { s.TopicTimeouts, s.ResumeIntents = topics, false })
		h.lostDispatch()
		h.clock.Advance(window - h.settings.PollInterval)
		handled := h.handled()
		stop := h.run()
		handled() // as the redelivery that it is: the job's lock is free
		require.NoError(t, h.clock.BlockUntilContext(t.Context(), loops))
		assert.Equal(t, job.Dispatched, h.record().State)
		h.clock.Advance(h.settings.PollInterval)
		h.logs.await("job timed out")
		require.NoError(t, stop())
		assert.Equal(t, job.Timeout, h.record().State)
		assert.EqualValues(t, 1, h.metric(`stale_jobs{state="DISPATCHED"}`))
	}
}

// Scheduler internals, section 3: what cannot be timed out is tried a few times in a tick, and again in the next one.
func TestRunTriesATimeoutAFewTimesInATick(t *testing.T) {
	h := newHarness(t, hardened, func(s *settings.Settings) { s.MaxRetries, s.ResumeIntents = 2, false })
	h.lostDispatch()
	h.clock.Advance(h.settings.DispatchTimeout - h.settings.PollInterval)
	handled := h.handled()
	stop := h.run()
	handled()
	h.faults.on(phase.TimeoutRead, "before", "before", "before")
	require.NoError(t, h.clock.BlockUntilContext(t.Context(), loops))
	h.clock.Advance(h.settings.PollInterval)
	h.logs.await("timeout left to the next tick")
	assert.Equal(t, job.Dispatched, h.record().State)
	require.NoError(t, stop())
	tries := 0
	for _, call := range h.faults.calls {
		if strings.HasPrefix(call, string(phase.TimeoutRead)) {
			tries++
		}
	}
	assert.Equal(t, 2, tries)
}

// Scheduler internals, section 3: two polls, so that nobody else ticks in the poll of a tick.
func TestTheLockOfATickLastsForTwoPolls(t *testing.T) {
	for _, keep := range []settings.TickLock{settings.UntilExpiry, settings.Renewed, settings.Released} {
		h := newHarness(t, func(s *settings.Settings) { s.TickLock, s.PollInterval = keep, 20*time.Second })
		require.NoError(t, h.tickLock("tick", phase.ReconcileLock).Begin(t.Context()))
		assert.Equal(t, 40*time.Second, h.redis.TTL("tick"), keep)
	}
}

// WEAKNESSES 10: a dead worker inside its TTL has received the publish. The time that a dispatch may take is
// all that its job gets, if this replica hears of other workers.
func TestADeadWorkersJob(t *testing.T) {
	for name, c := range map[string]struct {
		beats string
		want  job.State
	}{
		"another worker is heard of": {"worker-2", job.Timeout},
		"it is alive":                {"worker-1", job.Running},
		"nobody is heard of":         {"", job.Running},
	} {
		h := newHardened(t)
		require.NoError(t, h.handle(h.submit()))
		for range h.settings.DispatchTimeout / (10 * time.Second) {
			h.clock.Advance(10 * time.Second)
			if c.beats != "" {
				h.worker(c.beats)
			}
			h.registry.Sweep()
		}
		require.NoError(t, h.reconcile(), name)
		assert.Equal(t, c.want, h.record().State, name)
	}
}

// A tick of a running engine goes through so many batches of so many jobs as its settings say.
func TestATickIsAsLargeAsTheSettingsSay(t *testing.T) {
	h := newHarness(t, func(s *settings.Settings) { s.BatchSize, s.MaxIterations = 2, 3 })
	for i := range 9 {
		id := "job-" + strconv.Itoa(i)
		require.NoError(t, h.client().Submit(t.Context(), request(id)))
		h.redis.HSet("job:"+id, "state", string(job.Dispatched))
		_, err := h.redis.ZAdd("job:index:DISPATCHED", 1, id)
		require.NoError(t, err)
	}
	requests, err := h.js.Stream(t.Context(), bus.StreamSys)
	require.NoError(t, err)
	require.NoError(t, requests.Purge(t.Context())) // whoever handles one has its job's lock, for which the tick would wait
	h.clock.Advance(h.settings.DispatchTimeout)
	h.settings.PendingReplayer = false
	stop := h.run()
	require.NoError(t, h.clock.BlockUntilContext(t.Context(), loops-1))
	h.clock.Advance(h.settings.PollInterval)
	found := func() float64 { return h.metric(`stale_jobs{state="DISPATCHED"}`) }
	require.Eventually(t, func() bool { return found() > 0 }, 20*time.Second, time.Millisecond)
	assert.InDelta(t, 6, found(), 0)
	require.NoError(t, stop())
}
