package scenarios

import (
	"slices"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// longWork are executions that are longer than the others: the last two last until the worker has to
// ask for more time, and until JetStream delivers again what was not acknowledged.
var longWork = []string{"20s", "2m", "7m", "15m"}

// dialsMax is how many dials of [dials] a plan turns.
const dialsMax = 5

// settings draws a plan's settings.
func (d *drawer) settings() {
	for _, k := range shape {
		d.turn(k)
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
	meant := slices.DeleteFunc(slices.Clone(dials), func(k knob) bool {
		return k.needs != nil && k.needs.drawn != "" && !slices.Contains(changes, k.needs.drawn)
	})
	for range d.upTo(most, "dials") {
		d.turn(evenly(d, "dial", meant...))
	}
}

func (d *drawer) turn(k knob) {
	d.set(k.name, from(d, k.name, k.values()...))
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
	for _, check := range []func(*Plan) *strictyaml.Error{checkWorkload, checkEngine, checkKernel, checkOutput, checkFaults, checkAbout, checkStrikes} {
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
