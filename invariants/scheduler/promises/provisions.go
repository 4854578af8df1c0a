package promises

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// provided is a setting on which promises depend, by its name in a plan.
func provided(name string, on func(*config.Config) bool) setting { return setting{Name: name, On: on} }

// The settings on which promises depend.
var (
	withFence          = provided("fence", func(c *config.Config) bool { return c.Fence })
	withEpochs         = provided("epochs", func(c *config.Config) bool { return c.Epochs && !c.FanOut })
	withResume         = provided("resume_intents", func(c *config.Config) bool { return c.ResumeIntents })
	withoutResume      = provided("resume_intents=false", func(c *config.Config) bool { return !c.ResumeIntents })
	withRefusal        = provided("refuse_stale_results", func(c *config.Config) bool { return c.RefuseStaleResults })
	withoutRefusal     = provided("refuse_stale_results=false", func(c *config.Config) bool { return !c.RefuseStaleResults })
	withConfirm        = provided("confirm_acks", func(c *config.Config) bool { return c.ConfirmAcks })
	withReplica        = provided("wait_replica", func(c *config.Config) bool { return c.WaitReplica })
	withVoid           = provided("void_intents", func(c *config.Config) bool { return c.VoidIntents })
	withRetry          = provided("retry_unpublished", func(c *config.Config) bool { return c.RetryUnpublished })
	withFailClosed     = provided("read_error=fail-closed", func(c *config.Config) bool { return c.ReadError == "fail-closed" })
	withAddresses      = setting{Name: "topology.fan_out=false", On: func(c *config.Config) bool { return !c.FanOut }}
	withDeduplication  = setting{Name: "topology.deduplicate", On: func(c *config.Config) bool { return c.Deduplicate }}
	withSync           = setting{Name: "world.sync_always", On: func(c *config.Config) bool { return c.SyncAlways }}
	withRedisSync      = setting{Name: "world.redis_disk=always", On: func(c *config.Config) bool { return c.RedisSynced }}
	withLedger         = setting{Name: "topology.ledger", On: func(c *config.Config) bool { return c.Ledger }}
	withCommitCheck    = provided("replay.check_committed", func(c *config.Config) bool { return c.Replay.CheckCommitted })
	withKeptKey        = provided("replay.keep_key", func(c *config.Config) bool { return c.Replay.KeepKey })
	withNotice         = provided("cancel_notice", func(c *config.Config) bool { return c.CancelNotice })
	withSweep          = provided("sweep_scheduled", func(c *config.Config) bool { return c.SweepScheduled })
	withRecheck        = provided("recheck_timeouts", func(c *config.Config) bool { return c.RecheckTimeouts })
	withBusyBackoff    = provided("busy_backoff", func(c *config.Config) bool { return c.BusyBackoff })
	withEvenBackoff    = provided("even_backoff", func(c *config.Config) bool { return c.EvenBackoff })
	withWatch          = provided("watch_workers", func(c *config.Config) bool { return c.WatchWorkers })
	withLastSeen       = provided("snapshot_last_seen", func(c *config.Config) bool { return c.SnapshotLastSeen })
	withCounting       = provided("count_dispatches", func(c *config.Config) bool { return c.CountDispatches })
	withReconciler     = provided("reconciler", func(c *config.Config) bool { return c.Reconciler })
	withReplayer       = provided("pending_replayer", func(c *config.Config) bool { return c.PendingReplayer })
	withRenewedTicks   = provided("tick_lock=renewed", func(c *config.Config) bool { return c.TickLock == "renewed" })
	withReleasedTicks  = provided("tick_lock=released", func(c *config.Config) bool { return c.TickLock == "released" })
	withWholeTicks     = provided("ticks of at least 200 jobs", func(c *config.Config) bool { return c.BatchSize*c.MaxIterations >= 200 })
	withStaleReason    = provided("stale_reason_code=stale_worker", func(c *config.Config) bool { return c.StaleReasonCode == history.ReasonStale })
	withAtomicDLQ      = provided("dlq_order=atomic", func(c *config.Config) bool { return c.DLQOrder == history.DlqAtomic })
	withDLQThenState   = provided("dlq_order=dlq-then-state", func(c *config.Config) bool { return c.DLQOrder == history.DlqThenState })
	withOutbox         = provided("dispatch_order=outbox", func(c *config.Config) bool { return c.DispatchOrder == "outbox" })
	withoutOutbox      = provided("a dispatch_order other than outbox", func(c *config.Config) bool { return c.DispatchOrder != "outbox" })
	withStateFirst     = provided("dispatch_order=state-first", func(c *config.Config) bool { return c.DispatchOrder == "state-first" })
	withIntentFirst    = provided("an intent before each dispatch", func(c *config.Config) bool { return c.DispatchOrder != "publish-first" })
	withTimeToResume   = provided("a dispatch timeout that leaves time to resume an intent", func(c *config.Config) bool { return c.LeavesTimeToResume() })
	withTimeToScan     = provided("an output.scan_timeout of at least twice retry_delay_busy", func(c *config.Config) bool { return c.Output.ScanTimeout >= 2*c.RetryDelayBusy })
	withLongPatience   = provided("deliveries that outlast every outage by half an hour", func(c *config.Config) bool { return c.Outlasts(c.BusyPatience()) })
	withDLQPatience    = provided("deliveries that outlast every outage by half an hour", func(c *config.Config) bool { return c.Outlasts(c.TerminatePatience()) })
	withDeliveries     = provided("twice as many deliveries as attempts", func(c *config.Config) bool { return c.MaxDeliver >= 2*c.MaxSchedulingRetries })
	withLongLocks      = provided("a job_lock_ttl of at least 1s", func(c *config.Config) bool { return c.JobLockTTL >= time.Second })
	withLongPendingAge = provided("a pending_age that outlasts every outage", func(c *config.Config) bool {
		return c.PendingAge > c.Outages+c.Policy.OpenFor+max(c.ThrottledFor(), c.BackoffMax)
	})
	withBinding           = provided("policy.bind_approvals", func(c *config.Config) bool { return c.Approvals.Bind })
	withKeptCancellations = provided("keep_cancellations", func(c *config.Config) bool { return c.KeepCancellations })
	withDurableScans      = provided("output.durable_scans", func(c *config.Config) bool { return c.Output.DurableScans })
	withSharedBreaker     = provided("policy.shared_breaker", func(c *config.Config) bool { return c.Policy.SharedBreaker })
	withSharedProbes      = provided("policy.shared_probes", func(c *config.Config) bool { return c.Policy.SharedProbes })
	withReplayWorker      = provided("replay.enabled", func(c *config.Config) bool { return c.Replay.Enabled })
	withAtomicReplay      = provided("replay.atomic", func(c *config.Config) bool { return c.Replay.Atomic })
	withAtomicRecord      = provided("saga.atomic_record", func(c *config.Config) bool { return c.Saga.AtomicRecord })
	withPeek              = provided("saga.peek", func(c *config.Config) bool { return c.Saga.Peek })
	withLongSaga          = provided("a saga.lock_ttl of at least 1m", func(c *config.Config) bool { return c.Saga.LockTTL >= time.Minute })
	withDurable           = provided("saga.durable_rollback", func(c *config.Config) bool { return c.Saga.DurableRollback })
	withTenantReserve     = provided("tenant_reserve", func(c *config.Config) bool { return c.Tenants.Reserve })
	withStrictRunLock     = provided("workflow.strict_run_lock", func(c *config.Config) bool { return c.Workflow.StrictRunLock })
	withFenceRuns         = provided("workflow.fence_runs", func(c *config.Config) bool { return c.Workflow.FenceRuns })
	withDurableTimers     = provided("workflow.durable_timers", func(c *config.Config) bool { return c.Workflow.DurableTimers })
	withDelayPoller       = provided("workflow.delay_poller", func(c *config.Config) bool { return c.Workflow.DelayPoller })
	withRunReconciler     = provided("workflow.run_reconciler", func(c *config.Config) bool { return c.Workflow.RunReconciler })
)
