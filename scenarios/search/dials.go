package search

import (
	"slices"
	"strconv"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// longWork are executions that are longer than the others: the last two last until the worker has to
// ask for more time, and until JetStream delivers again what was not acknowledged.
var longWork = []string{"20s", "2m", "7m", "15m"}

// dialsMax is how many dials of [dials] a plan turns.
const dialsMax = 5

// settings draws a plan's settings.
func (d *drawer) settings() {
	for _, k := range plans.Shape {
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
	meant := slices.DeleteFunc(slices.Clone(plans.Dials), func(k plans.Knob) bool {
		return k.Needs != nil && k.Needs.Drawn != "" && !slices.Contains(changes, k.Needs.Drawn)
	})
	for range d.upTo(most, "dials") {
		d.turn(evenly(d, "dial", meant...))
	}
}

func (d *drawer) turn(k plans.Knob) {
	d.set(k.Name, from(d, k.Name, k.Values()...))
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
	if d.fixed[name] || name == "then.heal" && value == "false" && d.p.HealsFaults() {
		return
	}
	before := *d.p.Clone()
	if d.p.Set(name+"="+value) != nil || !d.p.Fits() {
		*d.p = before
	}
}
