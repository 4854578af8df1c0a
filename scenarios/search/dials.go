package search

import (
	"slices"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// dialsMax is how many dials a plan turns at most.
const dialsMax = 5

// settings draws a plan's settings.
func (d *drawer) settings() {
	for _, k := range plans.Shape {
		d.turn(k)
	}
	d.turnSome(dialsMax)
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
	if d.oneIn(10, "approval") && d.permit() {
		from(d, "which", (*drawer).approval, (*drawer).change)(d, d.job("job to be approved"))
	}
	if d.oneIn(12, "throttled") && d.permit() {
		d.throttle(d.job("throttled job"))
	}
	if d.oneIn(12, "deadline") {
		d.set("workload.deadline."+nth(d.job("job with a deadline")), from(d, "deadline", "5s", "100ms", "1m"))
	}
	if d.oneIn(10, "routed") {
		d.route(d.job("routed job"))
	}
	d.kernel()
	d.outputs()
}

// turnSome turns up to most of the dials that have an effect.
func (d *drawer) turnSome(most int) {
	changes := d.p.Changes()
	meant := slices.DeleteFunc(slices.Clone(plans.Dials), func(k plans.Knob) bool {
		return k.Needs != nil && k.Needs.Drawn != "" && !slices.Contains(changes, k.Needs.Drawn)
	})
	for range d.upTo(most, "dials") {
		d.turn(evenly(d, "dial", meant...))
	}
}
