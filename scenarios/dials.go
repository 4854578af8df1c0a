package scenarios

import (
	"slices"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
)

// dial is a setting that plans are drawn over: other values than its default, within which a run
// stays cheap and means something.
type dial struct {
	name   string
	values []string
	with   string // another setting without which it means nothing, as name=value
}

// shape are the dials that every plan draws.
var shape = []dial{
	{name: "topology.schedulers", values: []string{"1", "2", "3"}},
	{name: "topology.workers", values: []string{"1", "2", "3"}},
	{name: "workload.jobs", values: []string{"1", "2", "3", "4", "5"}},
	{name: "workload.every", values: []string{"200ms", "1ms", "20ms", "3s"}},
	{name: "workload.work", values: []string{"50ms", "1ms", "2s", "20s"}},
	{name: "workload.submissions", values: []string{"1", "1", "2", "3"}},
	{name: "schedule.strategy", values: []string{"latency", "random"}},
	{name: "engine.snapshot_every", values: []string{"1m", "30s", "5m", "5s"}}, // most of a calm run's steps are the snapshot's
}

// dials are those of which a plan draws a few. Not among them are the alternatives that are known to
// lose (publish-first, message-id, fail-open, cached-state, and the parts that the documented design can be robbed
// of: a campaign asks for them by [Space].Sets), budgets, and what [drawer.finish] works out.
var dials = slices.Concat(recoveryDials, routingDials, approvalDials, policyDials, outputDials, sagaDials, workflowDials, replayDials)

var recoveryDials = []dial{
	{name: "engine.dispatch_order", values: []string{"outbox"}},
	{name: "engine.stale_worker", values: []string{"jittered-retries"}},
	{name: "topology.max_parallel", values: []string{"1", "2", "16"}},
	{name: "topology.heartbeat_every", values: []string{"3s", "20s", "45s"}}, // the last is past the workers' TTL
	{name: "topology.deduplicate", values: []string{"true"}},
	{name: "world.heartbeat_lag", values: []string{"1s", "5s", "15s", "35s"}},
	{name: "world.dying", values: []string{"0.5", "1"}},
	{name: "then.heal", values: []string{"false"}},
	{name: "workload.tries", values: []string{"1", "3"}},
	{name: "workload.poison", values: []string{"1", "2"}},
	{name: "engine.stale_reason_code", values: []string{"no_workers", "stale_worker"}},
	{name: "engine.max_dispatch_retries", values: []string{"1", "2", "5", "20"}},
	{name: "engine.max_scheduling_retries", values: []string{"2", "3", "5", "12"}},
	{name: "engine.backoff_base", values: []string{"10ms", "200ms", "5s"}},
	{name: "engine.backoff_max", values: []string{"1s", "5s", "2m"}},
	{name: "engine.backoff_jitter", values: []string{"0s", "50ms", "5s"}},
	{name: "engine.retry_delay_busy", values: []string{"20ms", "2s", "10s"}},
	{name: "engine.retry_delay_store", values: []string{"20ms", "200ms", "5s"}},
	{name: "engine.retry_delay_publish", values: []string{"20ms", "500ms", "10s"}},
	{name: "engine.retry_delay_no_workers", values: []string{"100ms", "500ms", "10s"}},
	{name: "engine.store_op_timeout", values: []string{"100ms", "500ms", "10s"}}, // none is within what a slow command takes: a timeout is a fault's
	{name: "engine.publish_timeout", values: []string{"200ms", "1s", "20s"}},
	{name: "engine.job_lock_ttl", values: []string{"100ms", "1s", "4s", "15s", "5m"}},
	{name: "engine.max_renewal_failures", values: []string{"1", "2", "10"}},
	{name: "engine.worker_ttl", values: []string{"5s", "15s", "2m"}},
	{name: "engine.registry_sweep", values: []string{"3s", "30s", "1m"}},
	{name: "engine.ack_wait", values: []string{"1s", "5s", "30s", "2m"}},
	{name: "engine.max_deliver", values: []string{"1", "2", "5", "20", "1000"}},
	{name: "engine.fetch_wait", values: []string{"2s", "10s", "1m"}},
	{name: "engine.handlers", values: []string{"1", "2", "64"}},
	{name: "engine.dlq_entry_ttl", values: []string{"1s", "5m"}},
	{name: "engine.outbox_poll", values: []string{"50ms", "5s"}, with: "engine.dispatch_order=outbox"},
	{name: "engine.state_cache_age", values: []string{"1s", "10m"}, with: "engine.read_error=cached-state"},
	{name: "engine.state_cache_size", values: []string{"1", "3"}, with: "engine.read_error=cached-state"},
	{name: "engine.stale_retry_jitter", values: []string{"10ms", "5s"}, with: "engine.stale_worker=jittered-retries"},
	{name: "engine.dlq_order", values: []string{"dlq-then-state", "state-then-dlq", "atomic"}},
	{name: "engine.tick_lock", values: []string{"renewed", "until-expiry"}},
	{name: "engine.poll_interval", values: []string{"5s", "10s", "2m"}},
	{name: "engine.dispatch_timeout", values: []string{"20s", "1m", "15m"}},
	{name: "engine.topic_timeouts", values: []string{"job.default=30s", "job.default=10m,job.other=1s"}},
	{name: "engine.running_timeout", values: []string{"1m", "10m", "45m"}},
	{name: "engine.batch_size", values: []string{"1", "2"}},
	{name: "engine.max_iterations", values: []string{"1", "3"}},
	{name: "engine.max_retries", values: []string{"1", "10"}},
	{name: "engine.pending_age", values: []string{"10s", "1m", "10m"}},
	{name: "engine.scheduled_age", values: []string{"10s", "1m", "10m"}},
	{name: "engine.intent_age", values: []string{"5s", "2m"}},
	{name: "engine.snapshot_lock_ttl", values: []string{"1s", "30s"}},
	{name: "engine.snapshot_read_timeout", values: []string{"100ms", "30s"}},
	{name: "engine.inflight_ttl", values: []string{"1s", "10m"}},
	{name: "engine.fence", values: []string{"true", "false"}},
	{name: "engine.epochs", values: []string{"true", "false"}},
	{name: "engine.resume_intents", values: []string{"true", "false"}},
	{name: "engine.refuse_stale_results", values: []string{"true", "false"}},
	{name: "engine.void_intents", values: []string{"true", "false"}},
	{name: "engine.retry_unpublished", values: []string{"true", "false"}},
	{name: "engine.cancel_notice", values: []string{"true", "false"}},
	{name: "engine.sweep_scheduled", values: []string{"true", "false"}},
	{name: "engine.recheck_timeouts", values: []string{"true", "false"}},
	{name: "engine.watch_workers", values: []string{"true", "false"}},
	{name: "engine.busy_backoff", values: []string{"true", "false"}},
	{name: "engine.snapshot_last_seen", values: []string{"true", "false"}},
	{name: "engine.count_dispatches", values: []string{"true", "false"}},
}

// longWork are executions that are longer than the others: the last two last until the worker has to
// ask for more time, and until JetStream delivers again what was not acknowledged.
var longWork = []string{"20s", "2m", "7m", "15m"}

// dialsMax is how many dials of [dials] a plan turns.
const dialsMax = 5

// settings draws a plan's settings.
func (d *drawer) settings() {
	for _, dial := range shape {
		d.turn(dial)
	}
	d.turnSome(dialsMax)
	d.kernel()
	d.outputs()
	if d.oneIn(8, "with runs") {
		d.runs()
	}
	if d.oneIn(10, "slow") {
		d.slow(d.job("slow job"))
	}
	if d.oneIn(8, "cancel") {
		d.cancel(d.job("cancelled job"))
	}
	if d.oneIn(10, "saga") {
		d.rollBack(d.job("fatal job"))
	}
	if d.oneIn(10, "approval") {
		d.set("kernel.default", "ALLOW")
		from(d, "which", (*drawer).approval, (*drawer).change)(d, d.job("job to be approved"))
	}
	if d.oneIn(12, "throttled") {
		d.set("kernel.default", "ALLOW")
		d.throttle(d.job("throttled job"))
	}
	if d.oneIn(12, "deadline") {
		d.set("workload.deadline."+nth(d.job("job with a deadline")), from(d, "deadline", "5s", "100ms", "1m"))
	}
	if d.oneIn(10, "routed") {
		d.route(d.job("routed job"))
	}
}

func (d *drawer) job(label string) int { return 1 + d.upTo(d.p.Workload.Jobs-1, label) }

// turnSome turns up to so many of the dials that mean something.
func (d *drawer) turnSome(most int) {
	changes := d.p.Changes()
	meant := slices.DeleteFunc(slices.Clone(dials), func(dial dial) bool {
		return dial.with != "" && !slices.Contains(changes, dial.with)
	})
	for range d.upTo(most, "dials") {
		d.turn(evenly(d, "dial", meant...))
	}
}

func (d *drawer) turn(dial dial) {
	d.set(dial.name, from(d, dial.name, dial.values...))
}

// slow makes one job take long.
func (d *drawer) slow(job int) {
	d.set("workload.slow."+nth(job), from(d, "slow", longWork...))
}

// cancel has one job cancelled.
func (d *drawer) cancel(job int) {
	d.set("workload.cancel."+nth(job), from(d, "cancelled after", "1s", "1ms", "20ms", "10s", "3m"))
}

func nth(job int) string { return strconv.Itoa(job) }

// set gives a setting a value, unless the space fixes it or the plan would not be valid any more.
func (d *drawer) set(name, value string) {
	if d.fixed[name] || name == "then.heal" && value == "false" && d.p.healsFaults() {
		return
	}
	before := *d.p.clone()
	if d.p.Set(name+"="+value) != nil || !d.p.fits() {
		*d.p = before
	}
}

// healsFaults says whether one of the plan's faults goes on until the heal.
func (p *Plan) healsFaults() bool {
	return slices.ContainsFunc(p.Faults, func(f faults.Fault) bool {
		return f.Rate > 0 || f.Do == faults.Crash && f.RestartIn == 0 || f.Do == faults.Partition && f.For == 0
	})
}

// fits says whether the parts of the plan agree with each other.
func (p *Plan) fits() bool {
	for _, check := range []func(*Plan) *PlanError{checkWorkload, checkEngine, checkKernel, checkOutput, checkFaults, checkAbout, checkStrikes} {
		if check(p) != nil {
			return false
		}
	}
	return true
}

// patience is how long a job may take to settle with no fault left to strike, if its settings make
// that longer than the default of then.settle_within allows for.
func (p *Plan) patience() time.Duration {
	waits := func(p *Plan) time.Duration {
		e := &p.Engine
		noWorkers := time.Duration(e.MaxSchedulingRetries) * e.RetryDelayNoWorkers
		if e.TenantLimit > 0 {
			noWorkers += time.Duration(e.MaxSchedulingRetries) * e.BackoffMax
		}
		outputs := 4*e.Output.ScanTimeout + e.Output.CheckTimeout // a scan that another takes up
		ages := p.Workload.runsTake() + max(e.DispatchTimeout, e.PendingAge, e.ScheduledAge, e.IntentAge)
		for _, d := range p.topicTimeouts() {
			ages = max(ages, d)
		}
		ticks := 3 * e.PollInterval // a tick's lock is held for two
		return e.AckWait + e.JobLockTTL + e.BackoffMax + e.BackoffJitter + e.RetryDelayBusy + e.RetryDelayStore + e.RetryDelayPublish + noWorkers +
			p.Topology.HeartbeatEvery + p.World.HeartbeatLag + ages + e.RunningTimeout + ticks + outputs + p.replays()
	}
	base := Defaults()
	longest := 720 * time.Hour // of then.settle_within
	return min(longest, base.Then.SettleWithin+max(0, waits(p)-waits(base))+p.sweeps())
}

// sweeps is how long a job of which no request is left to come may take to its ceiling: an attempt a sweep,
// each of which may come by while no worker counts as alive, or none fits, or its tenant is at its limit.
func (p *Plan) sweeps() time.Duration {
	e, t := &p.Engine, &p.Topology
	choosy := len(p.Workload.Label)+len(p.Workload.Requires) > 0 || e.TenantLimit > 0
	if !e.SweepScheduled || !choosy && p.Then.Heal && e.WorkerTTL > t.HeartbeatEvery+p.World.HeartbeatLag {
		return 0
	}
	attempts := e.MaxSchedulingRetries
	if e.Replay.Enabled {
		attempts *= 1 + e.Replay.MaxReplays // each of which may fare like it
	}
	return time.Duration(attempts) * (e.ScheduledAge + 3*e.PollInterval)
}
