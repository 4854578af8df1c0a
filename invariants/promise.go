package invariants

import (
	"slices"
	"time"
)

// setting is something that a scheduler can be set to, as promises speak of it.
type setting struct {
	name string // as a plan spells it, with its value if that is no yes
	on   func(*Config) bool
}

// The settings that promises depend on.
var (
	withFence         = setting{"fence", func(c *Config) bool { return c.Fence }}
	withEpochs        = setting{"epochs", func(c *Config) bool { return c.Epochs }}
	withResume        = setting{"resume_intents", func(c *Config) bool { return c.ResumeIntents }}
	withoutResume     = setting{"resume_intents=false", func(c *Config) bool { return !c.ResumeIntents }}
	withRefusal       = setting{"refuse_stale_results", func(c *Config) bool { return c.RefuseStaleResults }}
	withVoid          = setting{"void_intents", func(c *Config) bool { return c.VoidIntents }}
	withRetry         = setting{"retry_unpublished", func(c *Config) bool { return c.RetryUnpublished }}
	withNotice        = setting{"cancel_notice", func(c *Config) bool { return c.CancelNotice }}
	withSweep         = setting{"sweep_scheduled", func(c *Config) bool { return c.SweepScheduled }}
	withRecheck       = setting{"recheck_timeouts", func(c *Config) bool { return c.RecheckTimeouts }}
	withBusyBackoff   = setting{"busy_backoff", func(c *Config) bool { return c.BusyBackoff }}
	withWatch         = setting{"watch_workers", func(c *Config) bool { return c.WatchWorkers }}
	withLastSeen      = setting{"snapshot_last_seen", func(c *Config) bool { return c.SnapshotLastSeen }}
	withCounting      = setting{"count_dispatches", func(c *Config) bool { return c.CountDispatches }}
	withReconciler    = setting{"reconciler", func(c *Config) bool { return c.Reconciler }}
	withReplayer      = setting{"pending_replayer", func(c *Config) bool { return c.PendingReplayer }}
	withExpiringTicks = setting{"tick_lock=until-expiry", func(c *Config) bool { return c.TickLock == "until-expiry" }}
	withRenewedTicks  = setting{"tick_lock=renewed", func(c *Config) bool { return c.TickLock == "renewed" }}
	withReleasedTicks = setting{"tick_lock=released", func(c *Config) bool { return c.TickLock == "released" }}
	withWholeTicks    = setting{"ticks of 200 jobs at least", func(c *Config) bool { return c.BatchSize*c.MaxIterations >= 200 }}
	withStaleReason   = setting{"stale_reason_code=stale_worker", func(c *Config) bool { return c.StaleReasonCode == reasonStale }}
	withAtomicDLQ     = setting{"dlq_order=atomic", func(c *Config) bool { return c.DLQOrder == dlqAtomic }}
	withDLQThenState  = setting{"dlq_order=dlq-then-state", func(c *Config) bool { return c.DLQOrder == dlqThenState }}
	withOutbox        = setting{"dispatch_order=outbox", func(c *Config) bool { return c.DispatchOrder == "outbox" }}
	withoutOutbox     = setting{"another dispatch_order than outbox", func(c *Config) bool { return c.DispatchOrder != "outbox" }}
	withStateFirst    = setting{"dispatch_order=state-first", func(c *Config) bool { return c.DispatchOrder == "state-first" }}
	withIntentFirst   = setting{"an intent before each dispatch", func(c *Config) bool { return c.DispatchOrder != "publish-first" }}
	withTimeToResume  = setting{"a dispatch timeout that leaves time for it", func(c *Config) bool { return c.leavesTimeToResume() }}
	withLongPatience  = setting{"deliveries that outlast every outage, and half an hour", func(c *Config) bool { return c.outlasts(c.busyPatience()) }}
	withDLQPatience   = setting{"deliveries that outlast every outage, and half an hour", func(c *Config) bool { return c.outlasts(c.terminatePatience()) }}
	withDeliveries    = setting{"twice as many deliveries as attempts", func(c *Config) bool { return c.MaxDeliver >= 2*c.MaxSchedulingRetries }}
	withLongLocks     = setting{"a job_lock_ttl of 1s at least", func(c *Config) bool { return c.JobLockTTL >= time.Second }}
)

// on says whether the scheduler has it, under these settings.
func (m *mechanism) on(cfg *Config) bool {
	return !slices.ContainsFunc(m.settings, func(s setting) bool { return !s.on(cfg) })
}

// anyOn says whether one of them is on.
func anyOn(list []mechanism, cfg *Config) bool {
	return slices.ContainsFunc(list, func(m mechanism) bool { return m.on(cfg) })
}

// promised says whether the row promises anything under these settings.
func (r *row) promised(cfg *Config) bool { return len(r.takes) == 0 || anyOn(r.takes, cfg) }

// released are the kinds of strike that release the promise under these settings.
func (r *row) released(cfg *Config) (set kinds) {
	for _, e := range r.except {
		if !anyOn(e.but, cfg) {
			set |= e.by
		}
	}
	return set
}
