package search

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// faultsMax is how many faults a plan draws; what leads to one of them may come on top.
const faultsMax = 6

// usual lists the kinds of fault that promises can outlive.
func usual() []faults.Kind {
	return slices.DeleteFunc(faults.Kinds(), func(k faults.Kind) bool { return k.Rare > 0 })
}

// faults draws faults of a random subset of the usual kinds.
func (d *drawer) faults() {
	var swarm []faults.Kind
	for _, k := range usual() {
		if d.oneIn(2, string(k.Effect)) {
			swarm = append(swarm, k)
		}
	}
	if len(swarm) == 0 {
		return
	}
	for range d.upTo(faultsMax, "faults") {
		d.strike(from(d, "effect", swarm...))
	}
}

// rare draws the other kinds into a few plans: others are best looked for without. What is judged whatever its
// promise would break by them, and say nothing.
func (d *drawer) rare() {
	if len(d.p.Expect.Violates) > 0 {
		return
	}
	for _, k := range faults.Kinds() {
		if k.Rare > 0 && d.oneIn(k.Rare, string(k.Effect)) {
			d.strike(k)
		}
	}
}

// strike draws one fault of a kind: where it strikes, and a value for each of its keys.
func (d *drawer) strike(k faults.Kind) {
	f := faults.Fault{Do: k.Effect, Node: k.Server}
	switch {
	case k.Takes("from"):
		link := from(d, "link", d.p.FaultWorld().Links...)
		f.At, f.From, f.Node = d.instant(), link.Name, from(d, "node", link.Nodes...)
	case !k.OnNode():
		ph := d.phase(k.Strikes)
		f.On = d.match(ph)
		d.often(&f, ph)
	case d.oneIn(3, "at"):
		f.At = d.instant()
		if k.Server == "" {
			f.Node = from(d, "node", d.p.Nodes()...)
		}
	default:
		f.After = d.match(d.phase(func(faults.Phase) bool { return true }))
		if k.Server == "" {
			f.Node = faults.Actor
			if d.oneIn(4, "another") {
				f.Node = from(d, "node", d.p.Nodes()...)
			}
		}
	}
	for _, key := range k.Keys {
		if v, _ := f.Value(key.Name); v != nil {
			*v = d.length(key)
		}
	}
	d.add(f)
}

// add appends a fault, unless it would strike what one before it strikes already.
func (d *drawer) add(f faults.Fault) {
	if f.Validate(d.p.FaultWorld()) != nil {
		return
	}
	d.p.Faults = append(d.p.Faults, f)
	if plans.CheckStrikes(d.p) != nil {
		d.p.Faults = d.p.Faults[:len(d.p.Faults)-1]
	}
}

// often draws how many of the matching operations are struck.
func (d *drawer) often(f *faults.Fault, ph faults.Phase) {
	if d.p.Then.Heal && d.oneIn(8, "by rate") { // only the heal ends it
		f.Rate = from(d, "rate", 0.1, 0.3, 0.6, 0.9)
		f.On.Occurrence = 0
		if d.oneIn(2, "each job") {
			f.On.Job = 0
		}
		return
	}
	f.Times = from(d, "times", 0, 0, 0, 2, 3, 5, 30)
	if awaited := ph.Place == faults.PlaceDeliver || ph.Place == faults.PlaceSend && !ph.NoJob; awaited {
		f.Times = min(f.Times, 3) // each takes an AckWait to come again
	}
}

// weights say how often phases are drawn, where it is not as often as most (weightOfMost): the dispatch
// path more often, its heart most of all, and hardly ever what needs a message that makes no sense, or a
// job without a record.
var weights = map[string]int{
	"dispatched_write": 32, "publish": 32,
	"lock_acquire": 12, "lock_renew": 12, "state_read": 12, "scheduled_write": 12, "rollback_write": 12, "running_write": 12, "lock_release": 12, "submit_ack": 12,
	"saga_read": 6, "saga_pop": 6, "saga_publish": 6, "saga_close": 6,
	"pending_write": 2, "scan_read": 6, "run_write": 6, "job_term": 1, "result_term": 1, "cancel_term": 1,
}

const weightOfMost = 3

// phase draws one among those that fit.
func (d *drawer) phase(fits func(faults.Phase) bool) faults.Phase {
	var list []faults.Phase
	for _, ph := range d.p.Phases() {
		if ph.Place == faults.PlaceNone || !fits(ph) {
			continue
		}
		weight := weights[ph.Name]
		if weight == 0 {
			weight = weightOfMost
		}
		list = append(list, slices.Repeat([]faults.Phase{ph}, weight)...)
	}
	return evenly(d, "phase", list...)
}

// match draws which operations of a phase are meant, and brings about what leads to them.
func (d *drawer) match(ph faults.Phase) *faults.Match {
	m := &faults.Match{Phase: ph.Name}
	if slices.Contains(recurring, ph.Name) {
		m.Occurrence = evenly(d, "occurrence", 0, 2, 3, 4)
	} else {
		m.Occurrence = from(d, "occurrence", 0, 0, 0, 0, 2, 2, 3, 5)
	}
	if !ph.NoJob && !d.oneIn(8, "any job") {
		m.Job = 1 + d.upTo(d.p.Workload.Jobs-1, "job")
	}
	if d.oneIn(6, "on a node") {
		m.Node = from(d, "node", d.p.Topology.Actors(ph.Name)...)
	}
	if lead := leads[ph.Name]; lead != nil && !d.oneIn(4, "without lead") {
		lead(d, max(1, m.Job))
	}
	return m
}

// recurring are phases of each message's handling: a calm job has them twice.
var recurring = []string{"lock_acquire", "state_read", "lock_release", "processed_read", "inflight_write", "processed_write"}

// leads bring about what must happen to a job before a phase can: a fault there would never strike
// in a run that is calm but for it.
var leads = map[string]func(d *drawer, job int){
	"rollback_write": func(d *drawer, job int) { d.fail(job, "publish") },
	"outbox_claim":   func(d *drawer, job int) { d.fail(job, "publish") }, // else its writer publishes an entry
	"submit_nak": func(d *drawer, job int) {
		d.fail(job, from(d, "fails", "publish", "lock_acquire", "state_read", "scheduled_write", "dispatched_write"))
	},
	"result_nak":   func(d *drawer, job int) { d.fail(job, "result_write") },
	"lock_renew":   (*drawer).dawdle,
	"failed_write": (*drawer).exhaust,
	"dlq_write":    (*drawer).exhaust,
	"job_progress": func(d *drawer, job int) { d.set("workload.slow."+nth(job), "7m") },
	"pending_write": func(d *drawer, job int) { // of a job whose record is there, but cannot be read
		d.fail(job, "state_read")
	},
	"publish_read": func(d *drawer, job int) { // of a dispatch that was stored and is published again
		d.add(faults.Fault{On: &faults.Match{Job: job, Phase: "publish"}, Do: faults.FailAfter})
	},
	"poison_publish": (*drawer).poison, "submit_term": (*drawer).poison,
	"cancel_publish": (*drawer).cancel, "cancel_deliver": (*drawer).cancel, "cancel_write": (*drawer).cancel, "cancel_ack": (*drawer).cancel,
	"approval_write": (*drawer).approval, "approve_read": (*drawer).approval, "approve_write": (*drawer).approval, "approve_publish": (*drawer).approval,
	"approved_write": (*drawer).approval, "ask_again_write": (*drawer).change,
	"tenant_read": (*drawer).limit, "tenant_heal": (*drawer).limit,
	"cancel_nak": func(d *drawer, job int) {
		d.cancel(job)
		d.fail(job, "cancel_write")
	},
	"cancel_notice": (*drawer).cancelAtWork, "notice_deliver": (*drawer).cancelAtWork, "notice_ack": (*drawer).cancelAtWork,
	"void_publish": (*drawer).cancelInBetween, "void_deliver": (*drawer).cancelInBetween, "void_ack": (*drawer).cancelInBetween,
	"saga_record": (*drawer).saga, "saga_lock": (*drawer).rollBack, "saga_read": (*drawer).rollBack, "saga_pop": (*drawer).rollBack,
	"saga_publish": (*drawer).rollBack, "saga_close": (*drawer).rollBack, "saga_unlock": (*drawer).rollBack, "saga_unreadable": (*drawer).unreadable,
	"timeout_read": (*drawer).expire, "timeout_write": (*drawer).expire,
	"snapshot_read": (*drawer).startWarm, "replay_read": (*drawer).orphan,
	"dlq_entry_read": (*drawer).deadLetter, "committed_read": (*drawer).deadLetter, "dlq_update": (*drawer).deadLetter,
	"replay_publish": (*drawer).deadLetter, "commit_write": (*drawer).deadLetter, "dlq_growth_write": (*drawer).deadLetter,
}

// limit gives tenants one job in flight at a time.
func (d *drawer) limit(int) { d.set("engine.tenant_limit", "1") }

func (d *drawer) poison(int) { d.set("workload.poison", from(d, "poison", "1", "2")) }

// cancelAtWork has a job cancelled while a worker is at it.
func (d *drawer) cancelAtWork(job int) {
	d.set("workload.slow."+nth(job), from(d, "slow", longWork...))
	d.set("workload.cancel."+nth(job), from(d, "cancelled after", "1s", "10s"))
}

// cancelInBetween has a job cancelled while it is DISPATCHED and no dispatch of it is stored.
func (d *drawer) cancelInBetween(job int) {
	d.fail(job, "publish")
	d.set("workload.cancel."+nth(job), from(d, "cancelled after", "1s", "500ms"))
}

// expire lets a job's deadline pass while a worker is at it.
func (d *drawer) expire(job int) {
	d.set("workload.slow."+nth(job), "2m")
	d.set("workload.deadline."+nth(job), from(d, "deadline", "5s", "1m"))
}

// fail makes an operation of the job fail, so that nothing is applied.
func (d *drawer) fail(job int, phase string) {
	d.add(faults.Fault{On: &faults.Match{Job: job, Phase: phase}, Do: from(d, "fails by", faults.FailBefore, faults.Hang)})
}

// dawdle makes a handling of the job last longer than a third of its lock's time, when the renewal comes.
func (d *drawer) dawdle(job int) {
	d.set("engine.job_lock_ttl", from(d, "lock", "4s", "1s"))
	d.add(faults.Fault{On: &faults.Match{Job: job, Phase: from(d, "hangs", "scheduled_write", "publish")}, Do: faults.Hang})
}

// exhaust brings the job to its retry ceiling.
func (d *drawer) exhaust(job int) {
	d.set("engine.max_scheduling_retries", from(d, "ceiling", "2", "3"))
	d.add(faults.Fault{On: &faults.Match{Job: job, Phase: "publish"}, Do: faults.FailBefore, Times: 2})
}

// instant draws when something happens: while the first jobs are under way, or later.
func (d *drawer) instant() time.Duration {
	scale := from(d, "scale", time.Second, 100*time.Millisecond, time.Millisecond)
	return 2*plans.Boot + time.Duration(1+d.upTo(59, "at"))*scale
}

// length draws the value of a key. Without an end of its own an outage ends with the heal, if there is one.
func (d *drawer) length(key faults.Key) time.Duration {
	if key.Heal && d.p.Then.Heal && d.oneIn(4, key.Name+" the heal") {
		return 0
	}
	return from(d, key.Name, key.Draws...)
}
