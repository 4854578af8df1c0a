package plans

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/sim"
)

// Knob describes a setting. The tags of its field have its range and its doc, and the presets have its
// values.
type Knob struct {
	Name     string
	Draws    string // the values that plans draw, the simplest first; runs with them stay cheap
	always   bool   // every plan draws it; a plan draws only some of the others
	Needs    *Need  // otherwise it has no effect
	scenario string // the scenario in which it matters; "" is scenarioUsual

	// If the setting can switch off a part of the engine (see [Toggle]):
	off    string // the value that switches it off
	breaks string // the invariant that the scenario then violates
	says   string // the effect: a clause

	on string // the value that switches on a part that no preset has, and without which the engine is no worse
}

// scenarioUsual is the scenario of settings that need none of their own.
const scenarioUsual = "calm"

// Need is a condition for a setting to have an effect.
type Need struct {
	met     func(*Plan) bool
	without string // the message for a plan that does not meet it
	Drawn   string // plans draw the knob if this is among their [Plan.Changes]; "" is always
}

var (
	hasKernel   = &Need{met: func(p *Plan) bool { return p.Kernel.On() }, without: "the plan has no kernel"}
	kernelAllow = &Need{met: hasKernel.met, without: hasKernel.without, Drawn: "kernel.default=ALLOW"}
	hasApproval = &Need{met: requiresApprovals, without: "the safety kernel requires no approval of any job"}
	HasOutputs  = &Need{met: func(p *Plan) bool { return p.Engine.Output.Enabled }, without: "engine.output.enabled is false", Drawn: "engine.output.enabled=true"}
	hasReplays  = &Need{met: func(p *Plan) bool { return p.Engine.Replay.Enabled }, without: "engine.replay.enabled is false", Drawn: "engine.replay.enabled=true"}
	HasRuns     = &Need{met: func(p *Plan) bool { return p.Workload.Runs > 0 }, without: "workload.runs is 0", Drawn: "workload.runs=1"}
	hasSteps    = &Need{met: func(p *Plan) bool { return p.Workload.Runs > 0 && p.Workload.Steps > 1 }, without: "no run has a second step", Drawn: "workload.runs=1"}
	hasLastStep = &Need{met: func(p *Plan) bool { return p.Workload.Runs > 0 && p.Workload.Steps > 2 }, without: "no run has a third step", Drawn: "workload.runs=1"}
	undoesRuns  = &Need{met: func(p *Plan) bool { return p.Workload.Runs > 0 && p.Engine.Saga.DurableRollback }, without: "a run is rolled back only if workload.runs is more than 0 and engine.saga.durable_rollback is true", Drawn: "workload.runs=1"}
	hasOperator = &Need{met: func(p *Plan) bool {
		return hasReplays.met(p) && p.Workload.HasOperator()
	}, without: "nobody decides on a replay"}
	syncs         = &Need{met: func(p *Plan) bool { return p.World.SyncAlways || p.World.RedisDisk == sim.DiskAlways }, without: "a server syncs before it answers only if world.sync_always is true or world.redis_disk is always"}
	losesUnsynced = &Need{met: func(p *Plan) bool { return p.natsLosesPower() && !p.World.SyncAlways }, without: "no fault is a power loss of nats-server, or world.sync_always is true"}
	usesRedisDisk = &Need{met: func(p *Plan) bool { return p.RedisDies() || p.World.SyncTime > 0 }, without: "no fault kills Redis or takes its power, and world.sync_time is 0s"}
	hasPCT        = &Need{met: func(p *Plan) bool { return p.Schedule.Strategy == PCT }, without: "schedule.strategy is not pct", Drawn: "schedule.strategy=pct"}
	hasBounded    = &Need{met: func(p *Plan) bool { return p.Schedule.Strategy == Bounded }, without: "schedule.strategy is not bounded"}
	hasTenants    = &Need{met: func(p *Plan) bool { return p.Workload.Tenants > 1 }, without: "workload.tenants is 1", Drawn: "workload.tenants=2"}
	hasOutbox     = &Need{met: func(p *Plan) bool { return p.Engine.DispatchOrder == settings.Outbox }, without: "engine.dispatch_order is not outbox", Drawn: "engine.dispatch_order=outbox"}
	hasCache      = &Need{met: func(p *Plan) bool { return p.Engine.ReadError == settings.CachedState }, without: "engine.read_error is not cached-state", Drawn: "engine.read_error=cached-state"}
	hasJitter     = &Need{met: func(p *Plan) bool { return p.Engine.StaleWorker == settings.JitteredRetries }, without: "engine.stale_worker is not jittered-retries", Drawn: "engine.stale_worker=jittered-retries"}
)

// knobs lists the settings with a description. The order of those with draws decides which plans are drawn.
//
// Some settings have no draws: alternatives that are known to be worse (publish-first, message-id, fail-open,
// cached-state), parts of the documented design that can be switched off, budgets, the cost of a sync, and
// what package search computes. A campaign can choose the first two kinds with the Sets of its search.Space.
var knobs = []Knob{
	// The shape of a plan.
	{Name: "topology.schedulers", always: true, Draws: "1 2 3"},
	{Name: "topology.workers", always: true, Draws: "1 2 3"},
	{Name: "workload.jobs", always: true, Draws: "1 2 3 4 5"},
	{Name: "workload.every", always: true, Draws: "200ms 1ms 20ms 3s"},
	{Name: "workload.work", always: true, Draws: "50ms 1ms 2s 20s"},
	{Name: "workload.submissions", always: true, Draws: "1 1 2 3"},
	{Name: "schedule.strategy", always: true, Draws: "latency random"},
	{Name: "engine.snapshot_every", always: true, Draws: "1m 30s 5m 5s"}, // most of a calm run's steps are the snapshot's

	// The world, dispatch, locks and recovery.
	{Name: "engine.read_error", scenario: "redis-read-error"},
	{Name: "engine.dispatch_order", Draws: "outbox", scenario: "state-write-failure"},
	{Name: "engine.stale_worker", Draws: "jittered-retries", scenario: "stale-worker"},
	{Name: "schedule.change_points", Draws: "1 3 0 5", Needs: hasPCT},
	{Name: "schedule.steps", Needs: hasPCT},
	{Name: "schedule.preemptions", Needs: hasBounded},
	{Name: "topology.max_parallel", Draws: "1 2 16"},
	{Name: "workload.cpu", Draws: "45 90", scenario: "hot-worker"},
	{Name: "workload.gpu", Draws: "30 100", scenario: "hot-worker"},
	{Name: "topology.heartbeat_every", Draws: "3s 20s 45s"}, // the last is longer than the workers' TTL
	{Name: "topology.deduplicate", Draws: "true", on: "true"},
	{Name: "world.heartbeat_lag", Draws: "1s 5s 15s 35s fixed:15s lognormal:median=2s:p99=40s"},
	{Name: "world.sync_always", Draws: "true false", scenario: "nats-power-cut", off: "false", breaks: "every-intent-is-published",
		says: "nats-server acknowledges messages that are not on its disk yet, and a power loss takes them"},
	{Name: "world.sync_interval", Draws: "10s 10m", Needs: losesUnsynced, scenario: "nats-power-loss"},
	{Name: "world.redis_disk", Draws: "always everysec no rdb", Needs: usesRedisDisk, scenario: "redis-power-cut", off: "everysec", breaks: "every-job-settles",
		says: "Redis answers before a write is on its disk, and a power loss takes the last second"},
	{Name: "world.sync_time", Needs: syncs},
	{Name: "world.dying", Draws: "0.5 1"},
	{Name: "then.heal", Draws: "false"},
	{Name: "workload.tries", Draws: "1 3"},
	{Name: "workload.poison", Draws: "1 2"},
	{Name: "engine.stale_reason_code", Draws: "no_workers stale_worker", scenario: "lone-worker", off: "no_workers", breaks: "stale-worker-has-its-own-reason",
		says: "a dispatch of which every pick met a worker past its TTL is reported as if the pool were empty"},
	{Name: "engine.max_dispatch_retries", Draws: "1 2 5 20", scenario: "stale-worker"},
	{Name: "engine.max_scheduling_retries", Draws: "2 3 5 12"},
	{Name: "engine.backoff_base", Draws: "10ms 200ms 5s"},
	{Name: "engine.backoff_max", Draws: "1s 5s 2m"},
	{Name: "engine.backoff_jitter", Draws: "0s 50ms 5s"},
	{Name: "engine.retry_delay_busy", Draws: "20ms 2s 10s", scenario: "lock-release-failure"},
	{Name: "engine.retry_delay_store", Draws: "20ms 200ms 5s", scenario: "state-write-failure"},
	{Name: "engine.retry_delay_publish", Draws: "20ms 500ms 10s", scenario: "publish-failure"},
	{Name: "engine.retry_delay_no_workers", Draws: "100ms 500ms 10s"},
	{Name: "engine.store_op_timeout", Draws: "200ms 500ms 10s"}, // all are longer than a slow command, or a stop of nats-server, takes: only faults cause timeouts
	{Name: "engine.publish_timeout", Draws: "200ms 1s 20s"},
	{Name: "engine.job_lock_ttl", Draws: "100ms 1s 4s 15s 5m"},
	{Name: "engine.max_renewal_failures", Draws: "1 2 10"},
	{Name: "engine.worker_ttl", Draws: "5s 15s 2m"},
	{Name: "engine.registry_sweep", Draws: "3s 30s 1m"},
	{Name: "engine.ack_wait", Draws: "1s 5s 30s 2m"},
	{Name: "engine.max_deliver", Draws: "1 2 5 20 1000"},
	{Name: "engine.fetch_wait", Draws: "2s 10s 1m"},
	{Name: "engine.handlers", Draws: "1 2 64"},
	{Name: "engine.dlq_entry_ttl", Draws: "1s 5m"},
	{Name: "engine.outbox_poll", Draws: "50ms 5s", Needs: hasOutbox, scenario: "outbox-ack-lost"},
	{Name: "engine.state_cache_age", Draws: "1s 10m", Needs: hasCache, scenario: "cached-state-stale"},
	{Name: "engine.state_cache_size", Draws: "1 3", Needs: hasCache, scenario: "cached-state-stale"},
	{Name: "engine.stale_retry_jitter", Draws: "10ms 5s", Needs: hasJitter},
	{Name: "engine.dlq_order", Draws: "dlq-then-state state-then-dlq atomic", scenario: "dlq-write-failure", off: "state-then-dlq", breaks: "failed-job-has-dlq-entry",
		says: "a job is FAILED before its DLQ entry and dlq:index are written, and the redelivery of a failed job writes neither: an entry that is missing stays missing"},
	{Name: "engine.tick_lock", Draws: "renewed until-expiry", scenario: "deadline-between-ticks", off: "until-expiry", breaks: "overdue-job-found-within-a-poll",
		says: "the lock of a tick outlives the next poll and keeps out even its own holder: an overdue job waits for the poll after that"},
	{Name: "engine.poll_interval", Draws: "5s 10s 2m"},
	{Name: "engine.dispatch_timeout", Draws: "20s 1m 15m", scenario: "rollback-failure"},
	{Name: "engine.topic_timeouts", Draws: "job.default=30s job.default=10m,job.other=1s", scenario: "topic-timeout"},
	{Name: "engine.running_timeout", Draws: "1m 10m 45m", scenario: "dead-worker"},
	{Name: "engine.batch_size", Draws: "1 2"},
	{Name: "engine.max_iterations", Draws: "1 3"},
	{Name: "engine.max_retries", Draws: "1 10"},
	{Name: "engine.pending_age", Draws: "10s 1m 10m", scenario: "pending-orphan"},
	{Name: "engine.scheduled_age", Draws: "10s 1m 10m", scenario: "scheduled-orphan"},
	{Name: "engine.intent_age", Draws: "5s 2m"},
	{Name: "engine.snapshot_lock_ttl", Draws: "1s 30s"},
	{Name: "engine.snapshot_read_timeout", Draws: "100ms 30s"},
	{Name: "engine.inflight_ttl", Draws: "1s 10m"},
	{Name: "engine.fence", Draws: "true false", scenario: "paused-holder", off: "false", breaks: "lock-mutual-exclusion",
		says: "a replica whose lock has expired still writes, and overwrites what its successor wrote"},
	{Name: "engine.epochs", Draws: "true false", scenario: "publish-ack-lost", off: "false", breaks: "one-dispatch-per-job",
		says: "the stream accepts the dispatch of one decision twice, and cannot tell a late one from the next"},
	{Name: "engine.resume_intents", Draws: "true false", scenario: "crash-before-publish", off: "false", breaks: "every-intent-is-published",
		says: "nobody publishes a dispatch that a DISPATCHED record intends and the stream does not hold: a redelivery treats the job as in flight"},
	{Name: "engine.refuse_stale_results", Draws: "true false", scenario: "stale-result", off: "false", breaks: "result-of-current-epoch",
		says: "a job that was dispatched again ends with the result of the earlier dispatch, which was given up"},
	{Name: "engine.void_intents", Draws: "true false", scenario: "cancel-before-publish", off: "false", breaks: "no-dispatch-after-end",
		says: "a publish that is under way when its job ends still arrives, and a worker executes a job that is over"},
	{Name: "engine.retry_unpublished", Draws: "true false", scenario: "nats-outage", off: "false", breaks: "every-intent-is-published",
		says: "a job whose dispatch was never published ends TIMEOUT, although no worker ever had it"},
	{Name: "engine.cancel_notice", Draws: "true false", scenario: "cancel-running", off: "false", breaks: "cancelled-job-is-told",
		says: "the worker of a cancelled job is not told, and executes the job to its end"},
	{Name: "engine.wait_replica", Draws: "true false", scenario: "failover-after-running", off: "false", breaks: "acked-only-when-durable",
		says: "a message is acknowledged while only one Redis has what was written for it; if that Redis loses the write, the message is not sent again"},
	{Name: "engine.keep_cancellations", scenario: "cancel-before-record", off: "false", breaks: "cancellation-takes-effect",
		says: "a cancellation that comes before its job's record is forgotten, and the job runs"},
	{Name: "engine.confirm_acks", Draws: "true false", scenario: "dispatch-redelivered", off: "false", breaks: "one-execution-per-dispatch",
		says: "an ack that is lost is not sent again, and after ack_wait a worker executes the job a second time"},
	{Name: "engine.sweep_scheduled", Draws: "true false", scenario: "scheduled-orphan", off: "false", breaks: "every-job-settles",
		says: "nobody takes up a job that stays SCHEDULED after its request was given up"},
	{Name: "engine.recheck_timeouts", Draws: "true false", scenario: "timeout-race", off: "false", breaks: "timeout-only-when-due",
		says: "the reconciler times out each job of the list that it has read, even a job that has ended since"},
	{Name: "engine.watch_workers", Draws: "true false", scenario: "dead-worker", off: "false", breaks: "dead-worker-is-noticed",
		says: "a job that is RUNNING on a dead worker waits for the running timeout, although the worker has sent no heartbeat all that time"},
	{Name: "engine.busy_backoff", Draws: "true false", scenario: "lock-release-failure", off: "false", breaks: "no-message-given-up",
		says: "the delay before a message comes again does not grow, and the message uses up its deliveries before the busy lock or the outage is over"},
	{Name: "engine.even_backoff", Draws: "true false", scenario: "empty-pool", off: "false", breaks: "attempts-last-their-budget",
		says: "a job uses up its attempts long before the time that they are to last, as while the pool is empty"},
	{Name: "engine.snapshot_last_seen", Draws: "true false", scenario: "old-snapshot", off: "false", breaks: "snapshot-revives-no-worker",
		says: "a scheduler that starts counts every worker of the snapshot as just seen, even a dead one"},
	{Name: "engine.count_dispatches", Draws: "true false", scenario: "equal-load", off: "false", breaks: "dispatches-count-as-load",
		says: "all jobs between two heartbeats go to the one worker with the lowest load, or to the first by its id, and the other workers are idle"},

	// Parts of the documented design.
	{Name: "engine.reconciler", scenario: "dead-worker", off: "false", breaks: "every-job-settles",
		says: "nobody ends a job that is overdue, such as one on a dead worker"},
	{Name: "engine.pending_replayer", scenario: "pending-orphan", off: "false", breaks: "every-job-settles",
		says: "nobody takes up a job that its client stored as PENDING and could not publish"},
	{Name: "engine.warm_start", scenario: "cold-start", off: "false", breaks: "no-retry-for-want-of-known-workers",
		says: "a scheduler that starts knows no worker until the heartbeats come, and sends every job back"},
	{Name: "engine.idempotency_guard", scenario: "processed-redelivery", off: "false", breaks: "processed-message-not-handled-again",
		says: "a message whose ack was lost is handled again"},
	{Name: "engine.lock_renewal", scenario: "long-handling", off: "false", breaks: "lock-kept-by-living-holder",
		says: "a handling that outlasts its lock's TTL goes on without the lock"},
	{Name: "engine.lock_release", scenario: "overstayed-release", off: "unchecked", breaks: "lock-released-by-owner-or-expiry",
		says: "a holder whose lock has expired deletes the lock of its successor"},
	{Name: "engine.snapshot_lock", scenario: "snapshot-writers", off: "false", breaks: "one-writer-a-tick",
		says: "every replica writes the snapshot"},
	{Name: "engine.terminate_order", scenario: "poison-dlq-failure", off: "term-first", breaks: "terminated-message-has-dlq-entry",
		says: "a message that nobody can read is terminated before its DLQ entry is written, and is lost if that write fails"},
	{Name: "engine.tie_break", scenario: "equal-load", off: "drawn", breaks: "ties-broken-by-worker-id",
		says: "a draw decides between workers with the same load, and the same input is dispatched differently on each run"},

	// Pools, labels, requirements and tenants.
	{Name: "topology.zones", Draws: "2 1"},
	{Name: "topology.gpu_workers", Draws: "1 2"},
	{Name: "topology.fan_out"},
	{Name: "workload.tenants", Draws: "2 3"},
	{Name: "workload.shared_keys", Draws: "true", Needs: hasTenants, scenario: "shared-key"},
	{Name: "engine.tenant_limit", Draws: "1 2", scenario: "tenant-limit"},
	{Name: "engine.tenant_reserve", Draws: "true false", scenario: "tenant-limit", off: "false", breaks: "tenant-limit-held",
		says: "two handlings that count a tenant's jobs at the same time both dispatch into the tenant's last slot"},

	// The safety kernel, its circuit breaker and approvals.
	{Name: "engine.policy.approval_ttl", Draws: "1m 5s", Needs: hasKernel, scenario: "approval-expired"},
	{Name: "engine.policy.bind_approvals", Needs: hasKernel, scenario: "approval-of-a-changed-job", off: "false", breaks: "no-dispatch-without-approval",
		says: "an approval counts even if the job has changed since the approver looked at it"},
	{Name: "kernel.default", Draws: "ALLOW ALLOW DENY"},
	{Name: "engine.policy.timeout", Draws: "200ms 10s", Needs: kernelAllow, scenario: "policy-outage"},
	{Name: "engine.policy.throttle_delay", Draws: "200ms 1m", Needs: kernelAllow, scenario: "policy-throttle"},
	{Name: "engine.policy.open_delay", Draws: "200ms 1m", Needs: kernelAllow, scenario: "policy-outage"},
	{Name: "engine.policy.circuit_fail_budget", Draws: "1 2 10", Needs: kernelAllow, scenario: "policy-outage"},
	{Name: "engine.policy.circuit_open_for", Draws: "1s 5s 2m", Needs: kernelAllow, scenario: "policy-outage"},
	{Name: "engine.policy.circuit_half_open_max", Draws: "2 5", Needs: kernelAllow, scenario: "policy-outage"},
	{Name: "engine.policy.circuit_close_after", Draws: "1 3", Needs: kernelAllow, scenario: "policy-outage"},
	{Name: "engine.policy.shared_probes", Draws: "true false", Needs: kernelAllow, scenario: "breaker-storm", off: "false", breaks: "half-open-probes-within-limit",
		says: "while the circuit to the safety kernel is half-open, each replica counts only its own probes, and all replicas together send more than the limit"},
	{Name: "engine.policy.shared_breaker", Needs: hasKernel, scenario: "policy-outage", off: "false", breaks: "open-circuit-stops-every-replica",
		says: "each replica counts only its own failures, and still asks a safety kernel that the others know to be down"},
	{Name: "engine.policy.fail_mode", Needs: hasKernel, scenario: "policy-outage"},

	// The output policy.
	{Name: "engine.output.check_timeout", Draws: "200ms 10s", Needs: HasOutputs, scenario: "output-quarantine"},
	{Name: "engine.output.scan_timeout", Draws: "1s 2m", Needs: HasOutputs, scenario: "output-scan-twice"},
	{Name: "engine.output.recheck", Needs: HasOutputs, scenario: "output-scan-twice", off: "false", breaks: "quarantined-only-when-blocked",
		says: "a scan that ends late quarantines again a job that another scan has quarantined, with a second entry in the audit trail"},
	{Name: "engine.output.durable_scans", Draws: "true false", Needs: HasOutputs, scenario: "output-scan-lost", off: "false", breaks: "every-output-is-scanned",
		says: "nobody scans an output that was not scanned at once, as when its scheduler died"},
	{Name: "engine.output.enabled", scenario: "output-quarantine"},

	// Sagas.
	{Name: "engine.saga.lock_ttl", Draws: "1s 10s 10m", scenario: "saga-rollback"},
	{Name: "engine.saga.rollback_timeout", Draws: "1s 5m", scenario: "saga-rollback"},
	{Name: "engine.saga.atomic_record", Draws: "true false", scenario: "saga-recorded-twice", off: "false", breaks: "compensation-recorded-once",
		says: "a compensation is recorded before its job's SUCCEEDED is written: if that write fails, the redelivery of the result records it again"},
	{Name: "engine.saga.peek", Draws: "true false", scenario: "saga-publish-failure", off: "false", breaks: "every-compensation-accounted-for",
		says: "a compensation leaves the stack before it is submitted; between the two it is stored nowhere"},
	{Name: "engine.saga.durable_rollback", Draws: "true false", scenario: "saga-crash", off: "false", breaks: "every-compensation-accounted-for",
		says: "nobody resumes a rollback that ended too early, as when its scheduler died"},
	{Name: "workload.unreadable", scenario: "saga-rollback"},

	// Workflow runs and their timers.
	{Name: "workload.runs", Draws: "1 2 3"},
	{Name: "workload.steps", Draws: "1 2 4 6", Needs: HasRuns, scenario: "workflow"},
	{Name: "workload.step_delay", Draws: "12s 5s 1m 10s", Needs: hasSteps, scenario: "workflow"},
	{Name: "workload.step_until", Draws: "20s 1m", Needs: hasSteps, scenario: "workflow-delay-until"},
	{Name: "workload.last_step_delay", Draws: "11s 2s", Needs: hasLastStep, scenario: "workflow-joined"},
	{Name: "workload.step_retries", Draws: "1 3", Needs: HasRuns, scenario: "workflow"},
	{Name: "workload.step_backoff", Draws: "0s 1s 12s", Needs: HasRuns, scenario: "workflow"},
	{Name: "workload.step_failures", Draws: "1 2", Needs: HasRuns, scenario: "workflow"},
	{Name: "workload.step_undo", Draws: "true", Needs: undoesRuns, scenario: "workflow-undone"},
	{Name: "engine.workflow.run_lock_ttl", Draws: "100ms 2s 2m", Needs: HasRuns, scenario: "workflow"},
	{Name: "engine.workflow.durable_from", Draws: "0s 1m", Needs: HasRuns, scenario: "workflow"},
	{Name: "engine.workflow.delay_poll", Draws: "500ms 20s", Needs: HasRuns, scenario: "workflow"},
	{Name: "engine.workflow.strict_run_lock", Draws: "true false", Needs: HasRuns, scenario: "workflow-contended-run", off: "false", breaks: "run-written-by-lock-holder",
		says: "a replica advances a run whose lock another replica holds"},
	{Name: "engine.workflow.fence_runs", Draws: "true false", Needs: HasRuns, scenario: "workflow-paused-holder", off: "false", breaks: "run-writes-not-lost",
		says: "a replica that has lost the lock of a run still writes, and overwrites what others have written since"},
	{Name: "engine.workflow.durable_timers", Needs: HasRuns, scenario: "workflow-timer-crash", off: "false", breaks: "delay-fires-on-time",
		says: "Redis holds no delays and no new runs for the poller: only the memory of one replica holds a delay, which is lost if the replica dies, and a new run waits for a tick of the reconciler"},
	{Name: "engine.workflow.delay_poller", Needs: HasRuns, scenario: "workflow-timer-crash", off: "false", breaks: "delay-fires-on-time",
		says: "only the replica that set a delay fires it: if that replica is gone, the run waits until it starts again or the reconciler ticks"},
	{Name: "engine.workflow.run_reconciler", Needs: HasRuns, scenario: "workflow-redis-away", off: "false", breaks: "every-run-settles",
		says: "nobody takes up a run that makes no progress, as when its delay was lost"},

	// Dead letters and their replay.
	{Name: "engine.replay.enabled", Draws: "true", scenario: "replay", off: "false", breaks: "auto-replay-comes-about",
		says: "a job that failed because a dependency was down for a while stays a dead letter until somebody looks"},
	{Name: "engine.replay.max_replays", Draws: "1 2 5", Needs: hasReplays, scenario: "replay"},
	{Name: "engine.replay.backoff_base", Draws: "1s 1m", Needs: hasReplays, scenario: "replay"},
	{Name: "engine.replay.backoff_max", Draws: "1s 2m", Needs: hasReplays, scenario: "replay"},
	{Name: "topology.ledger", Draws: "false", Needs: hasReplays, scenario: "replay-had-already"},
	{Name: "engine.replay.growth_alert", Draws: "1 3", Needs: hasReplays, scenario: "dlq-growth"},
	{Name: "engine.replay.growth_window", Draws: "1s 1m 30m", Needs: hasReplays, scenario: "dlq-growth"},
	{Name: "engine.replay.keep_key", Needs: hasReplays, scenario: "replay", off: "false", breaks: "replay-keeps-idempotency-key",
		says: "a system that knows repetitions by their key takes a replay for a new call: it sends a second ticket or a second mail"},
	{Name: "engine.replay.triage", Needs: hasReplays, scenario: "replay-unknown-commit", off: "false", breaks: "no-replay-against-triage",
		says: "a job is replayed even if nobody knows whether it has had its effect"},
	{Name: "engine.replay.check_committed", Needs: hasReplays, scenario: "replay-committed", off: "false", breaks: "no-replay-of-committed",
		says: "a job is replayed although its worker has reported a success after all"},
	{Name: "engine.replay.check_policy", Needs: hasReplays, scenario: "replay-denied", off: "false", breaks: "replay-has-fresh-decision",
		says: "a job is replayed by its first decision, although today's policy would deny it"},
	{Name: "engine.replay.atomic", Needs: hasReplays, scenario: "replay-crash", off: "false", breaks: "one-replay-per-count",
		says: "a replay is submitted before its entry says so, and is submitted again if its scheduler dies in between"},
	{Name: "engine.replay.carry_count", Needs: hasReplays, scenario: "replay-exhausted", off: "false", breaks: "max-replays-hold",
		says: "each replay that fails starts a new count, and a job that cannot succeed is replayed for ever"},
}

// knobOf returns the knob of a setting, if there is one.
func knobOf(name string) (Knob, bool) {
	i := slices.IndexFunc(knobs, func(k Knob) bool { return k.Name == name })
	if i < 0 {
		return Knob{}, false
	}
	return knobs[i], true
}

// DrawnKnobs lists the knobs with draws for which is holds.
func DrawnKnobs(is func(Knob) bool) (list []Knob) {
	for _, k := range knobs {
		if k.Draws != "" && is(k) {
			list = append(list, k)
		}
	}
	return list
}

var (
	Shape = DrawnKnobs(func(k Knob) bool { return k.always })
	Dials = DrawnKnobs(func(k Knob) bool { return !k.always })
)

// Values lists the values that plans draw.
func (k Knob) Values() []string { return strings.Fields(k.Draws) }

// requiresApprovals says whether the kernel ever requires an approval.
func requiresApprovals(p *Plan) bool {
	requires := func(byDefault string, rules []kernel.Rule) bool {
		return byDefault == kernel.RequireApproval || slices.ContainsFunc(rules, func(r kernel.Rule) bool { return r.Decision == kernel.RequireApproval })
	}
	return requires(p.Kernel.Default, p.Kernel.Rules) ||
		slices.ContainsFunc(p.Kernel.Then, func(t KernelChange) bool { return requires(t.Default, t.Rules) })
}
