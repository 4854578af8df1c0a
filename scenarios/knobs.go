package scenarios

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/engine/settings"
)

// knob describes a setting. Its range and its doc are in the tags of its field, its values in the presets.
type knob struct {
	name     string
	draws    string // the values that plans draw, the plainest first; with them a run stays cheap
	always   bool   // every plan draws it; of the others a plan draws a few
	needs    *need  // without which it has no effect
	scenario string // in which it matters; "" is scenarioUsual

	// If it takes a part of the engine away (see [Toggle]):
	off    string // the value that does so
	breaks string // the invariant that the scenario then violates
	says   string // what goes wrong then, in a sentence
}

// scenarioUsual shows the settings that need no scenario of their own.
const scenarioUsual = "calm"

// need is a condition for a setting to have an effect.
type need struct {
	met     func(*Plan) bool
	without string // what a plan is told that does not meet it
	drawn   string // plans draw the knob if this is among their [Plan.Changes]; "" is always
}

var (
	hasKernel   = &need{met: func(p *Plan) bool { return p.Kernel.on() }, without: "the plan has no kernel"}
	kernelAllow = &need{met: hasKernel.met, without: hasKernel.without, drawn: "kernel.default=ALLOW"}
	hasApproval = &need{met: requiresApprovals, without: "no job needs an approval of the kernel's"}
	hasOutputs  = &need{met: func(p *Plan) bool { return p.Engine.Output.Enabled }, without: "engine.output.enabled is false", drawn: "engine.output.enabled=true"}
	hasReplays  = &need{met: func(p *Plan) bool { return p.Engine.Replay.Enabled }, without: "engine.replay.enabled is false", drawn: "engine.replay.enabled=true"}
	hasRuns     = &need{met: func(p *Plan) bool { return p.Workload.Runs > 0 }, without: "workload.runs is 0", drawn: "workload.runs=1"}
	hasOutbox   = &need{met: func(p *Plan) bool { return p.Engine.DispatchOrder == settings.Outbox }, without: "engine.dispatch_order is not outbox", drawn: "engine.dispatch_order=outbox"}
	hasCache    = &need{met: func(p *Plan) bool { return p.Engine.ReadError == settings.CachedState }, without: "engine.read_error is not cached-state", drawn: "engine.read_error=cached-state"}
	hasJitter   = &need{met: func(p *Plan) bool { return p.Engine.StaleWorker == settings.JitteredRetries }, without: "engine.stale_worker is not jittered-retries", drawn: "engine.stale_worker=jittered-retries"}
)

// knobs lists the settings with a description. The order of those with draws decides which plans are drawn.
//
// These have no draws: the alternatives that are known to lose (publish-first, message-id, fail-open, cached-state), the
// parts of the documented design that can be taken away, budgets, and what [drawer.finish] works out. A campaign asks
// for the first two by [Space].Sets.
var knobs = []knob{
	// The shape of a plan.
	{name: "topology.schedulers", always: true, draws: "1 2 3"},
	{name: "topology.workers", always: true, draws: "1 2 3"},
	{name: "workload.jobs", always: true, draws: "1 2 3 4 5"},
	{name: "workload.every", always: true, draws: "200ms 1ms 20ms 3s"},
	{name: "workload.work", always: true, draws: "50ms 1ms 2s 20s"},
	{name: "workload.submissions", always: true, draws: "1 1 2 3"},
	{name: "schedule.strategy", always: true, draws: "latency random"},
	{name: "engine.snapshot_every", always: true, draws: "1m 30s 5m 5s"}, // most of a calm run's steps are the snapshot's

	// The world, dispatch, locks and recovery.
	{name: "engine.read_error", scenario: "redis-read-error"},
	{name: "engine.dispatch_order", draws: "outbox", scenario: "state-write-failure"},
	{name: "engine.stale_worker", draws: "jittered-retries", scenario: "stale-worker"},
	{name: "topology.max_parallel", draws: "1 2 16"},
	{name: "topology.heartbeat_every", draws: "3s 20s 45s"}, // the last is past the workers' TTL
	{name: "topology.deduplicate", draws: "true"},
	{name: "world.heartbeat_lag", draws: "1s 5s 15s 35s"},
	{name: "world.dying", draws: "0.5 1"},
	{name: "then.heal", draws: "false"},
	{name: "workload.tries", draws: "1 3"},
	{name: "workload.poison", draws: "1 2"},
	{name: "engine.stale_reason_code", draws: "no_workers stale_worker", scenario: "lone-worker", off: "no_workers", breaks: "stale-worker-has-its-own-reason",
		says: "A dispatch that met dead workers alone says that there are none, as if the pool were empty."},
	{name: "engine.max_dispatch_retries", draws: "1 2 5 20", scenario: "stale-worker"},
	{name: "engine.max_scheduling_retries", draws: "2 3 5 12"},
	{name: "engine.backoff_base", draws: "10ms 200ms 5s"},
	{name: "engine.backoff_max", draws: "1s 5s 2m"},
	{name: "engine.backoff_jitter", draws: "0s 50ms 5s"},
	{name: "engine.retry_delay_busy", draws: "20ms 2s 10s", scenario: "lock-release-failure"},
	{name: "engine.retry_delay_store", draws: "20ms 200ms 5s", scenario: "state-write-failure"},
	{name: "engine.retry_delay_publish", draws: "20ms 500ms 10s", scenario: "publish-failure"},
	{name: "engine.retry_delay_no_workers", draws: "100ms 500ms 10s"},
	{name: "engine.store_op_timeout", draws: "100ms 500ms 10s"}, // none is within what a slow command takes: a timeout is a fault's
	{name: "engine.publish_timeout", draws: "200ms 1s 20s"},
	{name: "engine.job_lock_ttl", draws: "100ms 1s 4s 15s 5m"},
	{name: "engine.max_renewal_failures", draws: "1 2 10"},
	{name: "engine.worker_ttl", draws: "5s 15s 2m"},
	{name: "engine.registry_sweep", draws: "3s 30s 1m"},
	{name: "engine.ack_wait", draws: "1s 5s 30s 2m"},
	{name: "engine.max_deliver", draws: "1 2 5 20 1000"},
	{name: "engine.fetch_wait", draws: "2s 10s 1m"},
	{name: "engine.handlers", draws: "1 2 64"},
	{name: "engine.dlq_entry_ttl", draws: "1s 5m"},
	{name: "engine.outbox_poll", draws: "50ms 5s", needs: hasOutbox, scenario: "outbox-ack-lost"},
	{name: "engine.state_cache_age", draws: "1s 10m", needs: hasCache, scenario: "cached-state-stale"},
	{name: "engine.state_cache_size", draws: "1 3", needs: hasCache, scenario: "cached-state-stale"},
	{name: "engine.stale_retry_jitter", draws: "10ms 5s", needs: hasJitter},
	{name: "engine.dlq_order", draws: "dlq-then-state state-then-dlq atomic", scenario: "dlq-write-failure", off: "state-then-dlq", breaks: "failed-job-has-dlq-entry",
		says: "The job is FAILED, the write of its DLQ entry fails, and the redelivery finds a job that is over: nobody hears of it."},
	{name: "engine.tick_lock", draws: "renewed until-expiry", scenario: "deadline-between-ticks", off: "until-expiry", breaks: "overdue-job-found-within-a-poll",
		says: "The lock of a tick outlives the next poll, against its own holder too: a job that is overdue is found two polls later."},
	{name: "engine.poll_interval", draws: "5s 10s 2m"},
	{name: "engine.dispatch_timeout", draws: "20s 1m 15m", scenario: "rollback-failure"},
	{name: "engine.topic_timeouts", draws: "job.default=30s job.default=10m,job.other=1s", scenario: "topic-timeout"},
	{name: "engine.running_timeout", draws: "1m 10m 45m", scenario: "dead-worker"},
	{name: "engine.batch_size", draws: "1 2"},
	{name: "engine.max_iterations", draws: "1 3"},
	{name: "engine.max_retries", draws: "1 10"},
	{name: "engine.pending_age", draws: "10s 1m 10m", scenario: "pending-orphan"},
	{name: "engine.scheduled_age", draws: "10s 1m 10m", scenario: "scheduled-orphan"},
	{name: "engine.intent_age", draws: "5s 2m"},
	{name: "engine.snapshot_lock_ttl", draws: "1s 30s"},
	{name: "engine.snapshot_read_timeout", draws: "100ms 30s"},
	{name: "engine.inflight_ttl", draws: "1s 10m"},
	{name: "engine.fence", draws: "true false", scenario: "paused-holder", off: "false", breaks: "lock-mutual-exclusion",
		says: "A replica that was paused past its lock's TTL goes on where it was, and writes over what its successor wrote."},
	{name: "engine.epochs", draws: "true false", scenario: "publish-ack-lost", off: "false", breaks: "one-dispatch-per-job",
		says: "The stream has stored a dispatch whose ack was lost, and stores its repetition too."},
	{name: "engine.resume_intents", draws: "true false", scenario: "crash-before-publish", off: "false", breaks: "every-intent-is-published",
		says: "A scheduler dies between DISPATCHED and the publish, and the redelivery takes the job for one in flight."},
	{name: "engine.refuse_stale_results", draws: "true false", scenario: "stale-result", off: "false", breaks: "result-of-current-epoch",
		says: "A job that was dispatched again ends with the result of the dispatch that was given up."},
	{name: "engine.void_intents", draws: "true false", scenario: "cancel-before-publish", off: "false", breaks: "no-dispatch-after-end",
		says: "A publish that is under way when the job is cancelled arrives all the same, and a worker does what nobody wants."},
	{name: "engine.retry_unpublished", draws: "true false", scenario: "nats-outage", off: "false", breaks: "every-intent-is-published",
		says: "NATS is away for longer than the dispatch timeout, and a job that no worker was ever given ends TIMEOUT."},
	{name: "engine.cancel_notice", draws: "true false", scenario: "cancel-running", off: "false", breaks: "cancelled-job-is-told",
		says: "The worker of a cancelled job works on to its end."},
	{name: "engine.keep_cancellations", scenario: "cancel-before-record", off: "false", breaks: "cancellation-takes-effect",
		says: "A job is cancelled before it has a record, and runs."},
	{name: "engine.sweep_scheduled", draws: "true false", scenario: "scheduled-orphan", off: "false", breaks: "every-job-settles",
		says: "A job stays SCHEDULED when its request has been given up: nobody owns it."},
	{name: "engine.recheck_timeouts", draws: "true false", scenario: "timeout-race", off: "false", breaks: "timeout-only-when-due",
		says: "The reconciler times out a job that has ended since it read the list."},
	{name: "engine.watch_workers", draws: "true false", scenario: "dead-worker", off: "false", breaks: "dead-worker-is-noticed",
		says: "A job that went to a dead worker stays RUNNING for half an hour, though nobody has heard of the worker all the while."},
	{name: "engine.busy_backoff", draws: "true false", scenario: "lock-release-failure", off: "false", breaks: "no-message-given-up",
		says: "A message that meets a lock which nobody gave back uses up its deliveries before the lock expires."},
	{name: "engine.snapshot_last_seen", draws: "true false", scenario: "old-snapshot", off: "false", breaks: "snapshot-revives-no-worker",
		says: "A scheduler that starts takes the dead worker of an old snapshot for one that it has just heard of."},
	{name: "engine.count_dispatches", draws: "true false", scenario: "equal-load", off: "false", breaks: "dispatches-count-as-load",
		says: "All jobs between two heartbeats go to the worker with the lowest load, or the first by its id; the others are idle."},

	// Parts of the documented design.
	{name: "engine.reconciler", scenario: "dead-worker", off: "false", breaks: "every-job-settles",
		says: "A job stays RUNNING on a worker that is dead."},
	{name: "engine.pending_replayer", scenario: "pending-orphan", off: "false", breaks: "every-job-settles",
		says: "A job stays PENDING whose client stored it and could not publish it."},
	{name: "engine.warm_start", scenario: "cold-start", off: "false", breaks: "no-retry-for-want-of-known-workers",
		says: "A scheduler that starts knows no worker until the heartbeats come, and sends back every job."},
	{name: "engine.idempotency_guard", scenario: "processed-redelivery", off: "false", breaks: "processed-message-not-handled-again",
		says: "A message whose ack was lost is handled again."},
	{name: "engine.lock_renewal", scenario: "long-handling", off: "false", breaks: "lock-kept-by-living-holder",
		says: "A handling that outlasts the lock's TTL goes on without it."},
	{name: "engine.lock_release", scenario: "overstayed-release", off: "unchecked", breaks: "lock-released-by-owner-or-expiry",
		says: "A holder that overstayed deletes the lock of its successor."},
	{name: "engine.snapshot_lock", scenario: "snapshot-writers", off: "false", breaks: "one-writer-a-tick",
		says: "Every replica writes the snapshot."},
	{name: "engine.terminate_order", scenario: "poison-dlq-failure", off: "term-first", breaks: "terminated-message-has-dlq-entry",
		says: "A message that nobody can read is ended, the write of its DLQ entry fails, and it is gone."},
	{name: "engine.tie_break", scenario: "equal-load", off: "drawn", breaks: "ties-broken-by-worker-id",
		says: "The same input dispatches differently on each run."},

	// Pools, labels, requirements and tenants.
	{name: "topology.zones", draws: "2 1"},
	{name: "topology.gpu_workers", draws: "1 2"},
	{name: "workload.tenants", draws: "2 3"},
	{name: "engine.tenant_limit", draws: "1 2", scenario: "tenant-limit"},
	{name: "engine.tenant_reserve", draws: "true false", scenario: "tenant-limit", off: "false", breaks: "tenant-limit-held",
		says: "Two replicas count a tenant's jobs at once, and both dispatch into its last slot."},

	// The safety kernel, its circuit breaker and approvals.
	{name: "engine.policy.approval_ttl", draws: "1m 5s", needs: hasKernel, scenario: "approval-expired"},
	{name: "engine.policy.bind_approvals", needs: hasKernel, scenario: "approval-of-a-changed-job", off: "false", breaks: "no-dispatch-without-approval",
		says: "A job is approved that has become another since the approver looked at it, and goes on as that."},
	{name: "kernel.default", draws: "ALLOW ALLOW DENY"},
	{name: "engine.policy.timeout", draws: "200ms 10s", needs: kernelAllow, scenario: "policy-outage"},
	{name: "engine.policy.throttle_delay", draws: "200ms 1m", needs: kernelAllow, scenario: "policy-throttle"},
	{name: "engine.policy.open_delay", draws: "200ms 1m", needs: kernelAllow, scenario: "policy-outage"},
	{name: "engine.policy.circuit_fail_budget", draws: "1 2 10", needs: kernelAllow, scenario: "policy-outage"},
	{name: "engine.policy.circuit_open_for", draws: "1s 5s 2m", needs: kernelAllow, scenario: "policy-outage"},
	{name: "engine.policy.circuit_half_open_max", draws: "2 5", needs: kernelAllow, scenario: "policy-outage"},
	{name: "engine.policy.circuit_close_after", draws: "1 3", needs: kernelAllow, scenario: "policy-outage"},
	{name: "engine.policy.shared_probes", draws: "true false", needs: kernelAllow, scenario: "breaker-storm", off: "false", breaks: "half-open-probes-within-limit",
		says: "Each replica sends as many probes as the limit allows to a safety kernel that has just begun to answer again."},
	{name: "engine.policy.shared_breaker", needs: hasKernel, scenario: "policy-outage", off: "false", breaks: "open-circuit-stops-every-replica",
		says: "Each replica counts its own failures, and goes on asking a safety kernel that the others know to be down."},
	{name: "engine.policy.fail_mode", needs: hasKernel, scenario: "policy-outage"},

	// The output policy.
	{name: "engine.output.check_timeout", draws: "200ms 10s", needs: hasOutputs, scenario: "output-quarantine"},
	{name: "engine.output.scan_timeout", draws: "1s 2m", needs: hasOutputs, scenario: "output-scan-twice"},
	{name: "engine.output.recheck", needs: hasOutputs, scenario: "output-scan-twice", off: "false", breaks: "quarantined-only-when-blocked",
		says: "A scan that comes back late quarantines a job once more that another scan has quarantined, with a second entry in the audit trail."},
	{name: "engine.output.durable_scans", draws: "true false", needs: hasOutputs, scenario: "output-scan-lost", off: "false", breaks: "every-output-is-scanned",
		says: "A scheduler dies before it has scanned an output, and nobody does."},
	{name: "engine.output.enabled", scenario: "output-quarantine"},

	// Sagas.
	{name: "engine.saga.lock_ttl", draws: "1s 10s 10m", scenario: "saga-rollback"},
	{name: "engine.saga.rollback_timeout", draws: "1s 5m", scenario: "saga-rollback"},
	{name: "engine.saga.atomic_record", draws: "true false", scenario: "saga-recorded-twice", off: "false", breaks: "compensation-recorded-once",
		says: "The compensation is recorded, the write of SUCCEEDED fails, and the redelivery of the result records it once more."},
	{name: "engine.saga.peek", draws: "true false", scenario: "saga-publish-failure", off: "false", breaks: "every-compensation-accounted-for",
		says: "A compensation has left the stack when its publish fails, and is nowhere any more."},
	{name: "engine.saga.durable_rollback", draws: "true false", scenario: "saga-crash", off: "false", breaks: "every-compensation-accounted-for",
		says: "A scheduler dies in the middle of a rollback, and nobody goes on with it."},
	{name: "workload.unreadable", scenario: "saga-rollback"},

	// Workflow runs and their timers.
	{name: "workload.runs", draws: "1 2 3"},
	{name: "workload.steps", draws: "1 2 4 6", needs: hasRuns, scenario: "workflow"},
	{name: "workload.step_delay", draws: "12s 5s 1m", needs: hasRuns, scenario: "workflow"},
	{name: "workload.step_retries", draws: "1 3", needs: hasRuns, scenario: "workflow"},
	{name: "workload.step_backoff", draws: "0s 1s 12s", needs: hasRuns, scenario: "workflow"},
	{name: "workload.step_failures", draws: "1 2", needs: hasRuns, scenario: "workflow"},
	{name: "workload.step_undo", draws: "true", needs: hasRuns, scenario: "workflow"},
	{name: "engine.workflow.run_lock_ttl", draws: "100ms 2s 2m", needs: hasRuns, scenario: "workflow"},
	{name: "engine.workflow.durable_from", draws: "0s 1m", needs: hasRuns, scenario: "workflow"},
	{name: "engine.workflow.delay_poll", draws: "500ms 20s", needs: hasRuns, scenario: "workflow"},
	{name: "engine.workflow.strict_run_lock", draws: "true false", needs: hasRuns, scenario: "workflow-contended-run", off: "false", breaks: "run-written-by-lock-holder",
		says: "A replica goes on with a run whose lock another one holds."},
	{name: "engine.workflow.fence_runs", draws: "true false", needs: hasRuns, scenario: "workflow-paused-holder", off: "false", breaks: "run-writes-not-lost",
		says: "A replica that was paused past the TTL of a run's lock writes over what its successor wrote."},
	{name: "engine.workflow.durable_timers", needs: hasRuns, scenario: "workflow-timer-crash", off: "false", breaks: "delay-fires-on-time",
		says: "A delay dies with the replica that has it in memory, and the run waits for the reconciler."},
	{name: "engine.workflow.delay_poller", needs: hasRuns, scenario: "workflow-timer-crash", off: "false", breaks: "delay-fires-on-time",
		says: "A delay is kept in Redis, and nobody looks there until its replica starts again or the reconciler comes by."},
	{name: "engine.workflow.run_reconciler", needs: hasRuns, scenario: "workflow-redis-away", off: "false", breaks: "every-run-settles",
		says: "A delay that could not be kept in Redis dies with its replica, and nothing else knows of it."},

	// Dead letters and their replay.
	{name: "engine.replay.enabled", draws: "true", scenario: "replay", off: "false", breaks: "auto-replay-comes-about",
		says: "A job whose dependency was away for a while stays dead, until somebody looks."},
	{name: "engine.replay.max_replays", draws: "1 2 5", needs: hasReplays, scenario: "replay"},
	{name: "engine.replay.backoff_base", draws: "1s 1m", needs: hasReplays, scenario: "replay"},
	{name: "engine.replay.backoff_max", draws: "1s 2m", needs: hasReplays, scenario: "replay"},
	{name: "engine.replay.growth_alert", draws: "1 3", needs: hasReplays, scenario: "dlq-growth"},
	{name: "engine.replay.growth_window", draws: "1s 1m 30m", needs: hasReplays, scenario: "dlq-growth"},
	{name: "engine.replay.keep_key", needs: hasReplays, scenario: "replay", off: "false", breaks: "replay-keeps-idempotency-key",
		says: "A replay is a new call to whoever knows repetitions by their key: a second ticket, a second mail."},
	{name: "engine.replay.triage", needs: hasReplays, scenario: "replay-unknown-commit", off: "false", breaks: "no-replay-against-triage",
		says: "A job is replayed of which nobody knows whether it has had its effect."},
	{name: "engine.replay.check_committed", needs: hasReplays, scenario: "replay-committed", off: "false", breaks: "no-replay-of-committed",
		says: "A job is replayed whose worker has reported its success after all."},
	{name: "engine.replay.check_policy", needs: hasReplays, scenario: "replay-denied", off: "false", breaks: "replay-has-fresh-decision",
		says: "A job is replayed that today's policy would deny."},
	{name: "engine.replay.atomic", needs: hasReplays, scenario: "replay-crash", off: "false", breaks: "one-replay-per-count",
		says: "A scheduler dies between a replay's submission and the entry's update, and the next one submits it again."},
	{name: "engine.replay.carry_count", needs: hasReplays, scenario: "replay-exhausted", off: "false", breaks: "max-replays-hold",
		says: "Each replay that fails begins to count anew, and what cannot succeed is replayed for ever."},
}

// knobOf is the knob of that name, if there is one.
func knobOf(name string) (knob, bool) {
	i := slices.IndexFunc(knobs, func(k knob) bool { return k.name == name })
	if i < 0 {
		return knob{}, false
	}
	return knobs[i], true
}

// drawnKnobs are those with draws for which is holds.
func drawnKnobs(is func(knob) bool) (list []knob) {
	for _, k := range knobs {
		if k.draws != "" && is(k) {
			list = append(list, k)
		}
	}
	return list
}

var (
	shape = drawnKnobs(func(k knob) bool { return k.always })
	dials = drawnKnobs(func(k knob) bool { return !k.always })
)

// values are those that drawn plans give it.
func (k knob) values() []string { return strings.Fields(k.draws) }
