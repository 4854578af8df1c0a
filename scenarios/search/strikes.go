package search

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
)

// faultsMax is how many faults a plan draws. Faults that lead to one of them may be added.
const faultsMax = 6

// usual lists the kinds of fault that promises can survive.
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

// rare draws the other kinds into a few plans, since other violations are best looked for without them.
func (d *drawer) rare() {
	if d.judges() {
		return
	}
	for _, k := range faults.Kinds() {
		if k.Rare > 0 && d.oneIn(k.Rare, string(k.Effect)) {
			d.strike(k)
		}
	}
}

// strike draws a fault of a kind: where it strikes, and a value for each of its keys.
func (d *drawer) strike(k faults.Kind) {
	f := faults.Fault{Do: k.Effect}
	server := k.Effect.OfServer()
	if server {
		f.Node = from(d, "server", k.Servers...)
	}
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
		if !server {
			f.Node = from(d, "node", d.p.Nodes()...)
		}
	default:
		f.After = d.match(d.phase(func(faults.Phase) bool { return true }))
		if !server {
			f.Node = faults.Actor
			if d.oneIn(4, "another") {
				f.Node = from(d, "node", d.p.Nodes()...)
			}
		}
	}
	for _, key := range k.Keys {
		switch v, _ := f.Value(key.Name); {
		case v != nil:
			*v = d.length(key)
		case len(key.Names) > 0:
			f.With = from(d, key.Name, key.Names...)
		}
	}
	d.add(f)
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
		f.Times = min(f.Times, 3) // each redelivery takes an AckWait
	}
}

// weights say how often phases are drawn, if not as often as most (weightOfMost). The dispatch path is drawn
// more often, and its core most often. Phases that need a message that makes no sense, or a job without a
// record, are hardly ever drawn.
var weights = map[string]int{
	"dispatched_write": 32, "publish": 32,
	"lock_acquire": 12, "lock_renew": 12, "state_read": 12, "scheduled_write": 12, "rollback_write": 12, "running_write": 12, "lock_release": 12, "submit_ack": 12, "safety_check": 12,
	"saga_read": 6, "saga_pop": 6, "saga_publish": 6, "saga_close": 6,
	"pending_write": 2, "scan_read": 6, "run_write": 6, "job_term": 1, "result_term": 1, "cancel_term": 1,
}

const weightOfMost = 3

// phase draws one of the phases that fit.
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

// recurring are phases of the handling of each message: a calm job has them twice.
var recurring = []string{"lock_acquire", "state_read", "lock_release", "processed_read", "inflight_write", "processed_write", "replica_wait"}

// length draws the value of a key. An outage without an end of its own ends with the heal, if there is one.
func (d *drawer) length(key faults.Key) time.Duration {
	if key.Heal && d.p.Then.Heal && d.oneIn(4, key.Name+" the heal") {
		return 0
	}
	return from(d, key.Name, key.Draws...)
}
