package search

import (
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// situations are states that hardly ever come about by chance, since they take several things at once. Each
// function brings one about for a job, unless the space fixes a setting that it needs.
var situations = []func(d *drawer, job int){
	(*drawer).startWarm, (*drawer).orphan, (*drawer).strand, (*drawer).misread, (*drawer).outdate, (*drawer).deadLetter, (*drawer).breakOff, (*drawer).foretell, (*drawer).undo, (*drawer).lapse,
}

// situation makes some plans begin with a situation, to which faults are added.
func (d *drawer) situation() {
	if d.oneIn(5, "situation") {
		from(d, "which", situations...)(d, d.job("its job"))
	}
}

// startWarm makes a scheduler crash once there is a snapshot, and start again long before the workers' next
// heartbeats, while jobs come.
func (d *drawer) startWarm(int) {
	d.set("engine.snapshot_every", "5s")
	d.set("topology.heartbeat_every", "20s")
	d.set("topology.schedulers", from(d, "schedulers", "1", "2"))
	d.set("workload.jobs", "5")
	d.set("workload.every", "3s")
	d.add(faults.Fault{
		At: 5*time.Second + time.Duration(1+d.upTo(49, "at"))*100*time.Millisecond, Do: faults.Crash,
		Node: from(d, "node", plans.NodeNames("scheduler", d.p.Topology.Schedulers)...), RestartIn: from(d, "restart in", time.Second, 50*time.Millisecond),
	})
}

// orphan makes a client store a job and not submit it.
func (d *drawer) orphan(job int) {
	d.set("workload.tries", "1")
	d.set("engine.pending_age", from(d, "pending age", "10s", "1m"))
	d.fail(job, "submit_publish")
}

// strand leaves a job SCHEDULED with no request to come.
func (d *drawer) strand(job int) {
	if d.oneIn(2, "by its deliveries") {
		d.set("engine.max_deliver", "1")
	} else {
		d.orphan(job)
	}
	d.set("engine.sweep_scheduled", "true")
	d.set("engine.scheduled_age", from(d, "scheduled age", "10s", "1m"))
	d.fail(job, "dispatched_write")
}

// misread makes a scheduler die before it acknowledges a job's request. When the request is redelivered, the
// job is running and its record cannot be read.
func (d *drawer) misread(job int) {
	d.set("workload.slow."+nth(job), longWork[len(longWork)-1])
	d.add(faults.Fault{After: &faults.Match{Job: job, Phase: "running_write"}, Do: faults.Crash, Node: faults.Actor, RestartIn: time.Second})
	d.add(faults.Fault{On: &faults.Match{Job: job, Phase: "state_read", Occurrence: 2}, Do: faults.FailBefore})
}

// foretell cancels a job before it has a record.
func (d *drawer) foretell(job int) {
	d.set("engine.keep_cancellations", from(d, "kept", "true", "false"))
	d.set("workload.cancel."+nth(job), "1ms")
	if d.oneIn(2, "for longer") {
		d.fail(job, "submit_write")
	}
}

// outdate dispatches a job a second time while a worker executes it, so that the worker's result has an older
// epoch.
func (d *drawer) outdate(job int) {
	d.set("engine.resume_intents", "false")
	d.set("engine.epochs", "true")
	d.set("workload.slow."+nth(job), from(d, "slow", longWork...))
	d.add(faults.Fault{On: &faults.Match{Job: job, Phase: "publish"}, Do: faults.FailAfter})
}

// breakOff makes a scheduler die in the middle of a rollback, or pause for longer than the saga's lock lasts,
// so that another takes the lock.
func (d *drawer) breakOff(int) {
	last := d.fatalSaga()
	f := faults.Fault{After: &faults.Match{Job: last - 1, Phase: "saga_publish"}, Do: faults.Crash, Node: faults.Actor, RestartIn: time.Second}
	if d.oneIn(2, "by a pause") {
		d.set("engine.saga.lock_ttl", "10s")
		d.set("topology.schedulers", "2")
		f.Do, f.RestartIn, f.For = faults.Pause, 0, 70*time.Second
	}
	d.add(f)
}

// fatalSaga makes all jobs one saga, and the last of them, which it returns, fail for good.
func (d *drawer) fatalSaga() (last int) {
	d.set("workload.jobs", from(d, "jobs", "3", "4"))
	last = d.p.Workload.Jobs
	d.set("workload.saga", nth(last))
	d.set("workload.answer."+nth(last), "FAILED_FATAL")
	return last
}

// undo rolls back a saga with a job that was executed, but did not succeed: its output is blocked, or it was cancelled
// before.
func (d *drawer) undo(int) {
	job := 1 + d.upTo(max(0, d.fatalSaga()-2), "its job")
	if d.oneIn(2, "blocked") {
		d.quarantine(job)
		return
	}
	d.set("engine.cancel_notice", from(d, "told", "false", "true"))
	d.set("workload.slow."+nth(job), longWork[0])
	d.set("workload.cancel."+nth(job), from(d, "cancelled after", "1s", "10s"))
}

// lapse makes Redis fail over between a write and the answer to its message.
func (d *drawer) lapse(job int) {
	if d.judges() {
		return
	}
	m := &faults.Match{Job: job, Phase: from(d, "after", "result_write", "dlq_write", "dispatched_write", "running_write")}
	if m.Phase == "dlq_write" {
		d.poison(job)
		m.Job = 0
	}
	d.add(faults.Fault{After: m, Do: faults.Failover, Node: faults.Redis, Lag: from(d, "lag", 10*time.Millisecond, time.Second)})
}

// deadLetter makes a job fail that may be replayed, or not.
func (d *drawer) deadLetter(job int) {
	d.set("engine.replay.enabled", "true")
	how := from(d, "fails", "denied", "schema_invalid", "dependency_unavailable", "timeout; twice", "timeout; committed", "timeout; succeeds after 20s", "no_workers; 6 times", "unknown_commit_state", "unknown_commit_state; committed")
	d.set("workload.fail."+nth(job), how)
	if strings.HasSuffix(how, "committed") { // a replay makes a second ticket, unless the worker knows its key
		d.set("topology.deduplicate", from(d, "deduplicates", "true", "false"))
	}
	d.set("topology.ledger", from(d, "a ledger", "true", "false"))
	if d.oneIn(4, "shares its key") {
		d.set("workload.tenants", "2")
		d.set("workload.shared_keys", "true")
	}
	person := map[string]string{"denied": "approve_replay", "schema_invalid": "mend_replay", "unknown_commit_state": "ask_replay"}[strings.TrimSuffix(how, "; committed")]
	if person != "" {
		if d.oneIn(4, "denies") {
			person = "deny_replay"
		}
		d.set("workload."+person+"."+nth(job), from(d, "decided after", "1m", "10s"))
		if d.oneIn(3, "by another") {
			d.set("workload.operator_of."+nth(job), "interns")
		}
	}
	if d.oneIn(3, "growth") {
		d.set("engine.replay.growth_alert", "1")
		d.set("workload.fail."+nth(d.job("another")), "schema_invalid")
	}
}
