package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/recovery"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/workflow"
)

// What an engine runs goes by the settings that are for it, and not by others of the same type: no two are alike here.
func TestWhatRunsGoesByItsSettings(t *testing.T) {
	h := newHarnessOn(t, func(h *harness) { h.config.Workflows = true }, func(s *settings.Settings) {
		s.BatchSize, s.MaxIterations, s.MaxRetries, s.MaxRenewalFailures = 11, 12, 13, 14
		s.PollInterval, s.DispatchTimeout, s.RunningTimeout = 15*time.Second, 16*time.Minute, 17*time.Minute
		s.PendingReplayer, s.SweepScheduled, s.ResumeIntents, s.VoidIntents, s.Epochs = true, true, true, true, true
		s.PendingAge, s.ScheduledAge, s.IntentAge = 18*time.Second, 19*time.Second, 20*time.Second
		s.DLQEntryTTL, s.RetryDelayStore, s.AckWait, s.InflightTTL, s.WorkerTTL = 21*time.Hour, 22*time.Second, 23*time.Minute, 24*time.Second, 25*time.Second
		s.Workflow.RunLockTTL, s.Workflow.DurableFrom, s.Workflow.DelayPoll = 26*time.Second, 27*time.Second, 28*time.Second
		s.Workflow.DelayPoller, s.Workflow.RunReconciler = true, true
		s.Replay.MaxReplays = 7
	})
	s := h.settings

	r := h.reconciler()
	assert.Equal(t, []int{11, 12, 13}, []int{r.BatchSize, r.MaxIterations, r.MaxRetries})
	assert.Equal(t, []time.Duration{16 * time.Minute, 17 * time.Minute}, []time.Duration{r.Timeouts.Dispatch, r.Timeouts.Running})
	assert.Equal(t, 30*time.Second, r.Lock.TTL)

	p := h.replayer()
	assert.Equal(t, []int{11, 12}, []int{p.BatchSize, p.MaxIterations})
	assert.Equal(t, []recovery.Wait{
		{State: job.Pending, Age: 18 * time.Second}, {State: job.ApprovalRequired, Age: 18 * time.Second},
		{State: job.Scheduled, Age: 19 * time.Second}, {State: job.Dispatched, Age: 20 * time.Second},
	}, p.Waits)

	w := h.runs
	assert.Equal(t, 11, w.BatchSize)
	assert.Equal(t, []time.Duration{26 * time.Second, 22 * time.Second, 27 * time.Second, 28 * time.Second, 15 * time.Second},
		[]time.Duration{w.LockTTL, w.RetryDelay, w.DurableFrom, w.DelayPoll, w.RunsPoll})
	assert.Equal(t, []time.Duration{56 * time.Second, 30 * time.Second}, []time.Duration{w.Poller.TTL, w.Reconciler.TTL})

	assert.Equal(t, 14, h.locks.MaxRenewalFailures)
	assert.Equal(t, 21*time.Hour, h.dlq.TTL)
	assert.Equal(t, []time.Duration{23 * time.Minute, 24 * time.Second}, []time.Duration{h.guard.ProcessedTTL, h.guard.InflightTTL})
	assert.Equal(t, 7, newDLQReplayer(&s, h.store, h.dlq, h.js, h.random).MaxReplays)
}

// So do what can be taken away: each is where its own setting is, whatever the others are.
func TestEachToggleIsItsOwn(t *testing.T) {
	h := newHarnessOn(t, func(h *harness) { h.config.Workflows = true })
	type toggle struct {
		set  func(s *settings.Settings, on bool)
		read func() bool
	}
	letters := func() *dlq.Replayer { return newDLQReplayer(&h.settings, h.store, h.dlq, h.js, h.random) }
	runs := func() *workflow.Engine { return h.workflows(h.config) }
	toggles := map[string]toggle{
		"replay.triage":          {func(s *settings.Settings, on bool) { s.Replay.Triage = on }, func() bool { return letters().Triage }},
		"replay.keep_key":        {func(s *settings.Settings, on bool) { s.Replay.KeepKey = on }, func() bool { return letters().KeepKey }},
		"replay.check_committed": {func(s *settings.Settings, on bool) { s.Replay.CheckCommitted = on }, func() bool { return letters().CheckCommitted }},
		"replay.check_policy":    {func(s *settings.Settings, on bool) { s.Replay.CheckPolicy = on }, func() bool { return letters().CheckPolicy }},
		"replay.atomic":          {func(s *settings.Settings, on bool) { s.Replay.Atomic = on }, func() bool { return letters().Atomic }},
		"saga.durable_rollback":  {func(s *settings.Settings, on bool) { s.Saga.DurableRollback = on }, func() bool { return h.reconciler().RollBack != nil }},
		"workflow.fence_runs":    {func(s *settings.Settings, on bool) { s.Workflow.FenceRuns = on }, func() bool { return runs().Runs.Fence }},
		"workflow.durable_timers": {func(s *settings.Settings, on bool) { s.Workflow.DurableTimers = on }, func() bool {
			w := runs()
			return w.Durable && w.Runs.Durable
		}},
		"workflow.strict_run_lock": {func(s *settings.Settings, on bool) { s.Workflow.StrictRunLock = on }, func() bool { return runs().StrictLock }},
		"workflow.delay_poller":    {func(s *settings.Settings, on bool) { s.Workflow.DelayPoller = on }, func() bool { return runs().Poller != nil }},
		"workflow.run_reconciler":  {func(s *settings.Settings, on bool) { s.Workflow.RunReconciler = on }, func() bool { return runs().Reconciler != nil }},
		"lock_renewal":             {func(s *settings.Settings, on bool) { s.LockRenewal = on }, func() bool { return !h.locker(&h.config).Unrenewed }},
	}
	for one := range toggles {
		for _, on := range []bool{true, false} {
			h.settings = settings.Documented()
			for name, toggle := range toggles {
				toggle.set(&h.settings, (name == one) == on)
			}
			h.config.Settings = h.settings
			for name, toggle := range toggles {
				assert.Equal(t, (name == one) == on, toggle.read(), "%s, where only %s is %t", name, one, on)
			}
		}
	}
}
