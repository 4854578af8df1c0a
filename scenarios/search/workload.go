package search

import "github.com/wavetank-sim/wavetank/scenarios/plans"

// longWork are executions that are longer than the others. During the last two, the worker has to ask for
// more time, and JetStream redelivers what was not acknowledged.
var longWork = []string{"20s", "2m", "7m", "15m"}

// slow makes one job take long.
func (d *drawer) slow(job int) {
	d.set("workload.slow."+nth(job), from(d, "slow", longWork...))
}

// cancel cancels one job.
func (d *drawer) cancel(job int) {
	d.set("workload.cancel."+nth(job), from(d, "cancelled after", "1s", "1ms", "20ms", "10s", "3m"))
}

// route draws what one job requires of a worker or a pool, which may not exist.
func (d *drawer) route(job int) {
	n := nth(job)
	switch from(d, "asks for", "label", "requires", "topic") {
	case "label":
		d.set("topology.zones", from(d, "zones", "2", "1"))
		d.set("workload.label."+n, from(d, "label", "placement.zone=zone-1", "placement.zone=zone-2", "preferred_worker_id=worker-1", "constraint.gpu=true", "preferred_pool=gpu"))
		if d.oneIn(3, "overridden") {
			d.override(job)
		}
	case "requires":
		d.set("topology.gpu_workers", from(d, "gpu workers", "1", "0"))
		d.set("workload.requires."+n, "gpu")
	default:
		d.set("topology.gpu_workers", from(d, "gpu workers", "1", "0"))
		d.set("workload.topic."+n, from(d, "topic", "job.gpu", "job.other"))
		if d.oneIn(3, "with a constraint") {
			d.set("workload.label."+n, from(d, "constraint", "constraint.gpu=a100", "constraint.gpu=true"))
		}
	}
}

// saga makes jobs belong to workflows, and leave compensations behind. Workflows of two tenants may have the
// same name.
func (d *drawer) saga(int) {
	d.set("workload.saga", from(d, "jobs of a saga", "3", "2", "5", "1"))
	if d.oneIn(4, "of two tenants") {
		d.set("workload.tenants", "2")
	}
}

// rollBack makes a job of a saga fail for good.
func (d *drawer) rollBack(job int) {
	d.saga(job)
	d.set("workload.answer."+nth(job), from(d, "answer", "FAILED_FATAL", "FAILED_FATAL", "FAILED_FATAL", "FAILED"))
}

// unreadable pushes an unreadable entry onto the stack of the first saga.
func (d *drawer) unreadable(int) {
	d.rollBack(1)
	d.set("workload.unreadable", from(d, "unreadable", "1", "2"))
}

// runs makes a plan start workflow runs, and turns some of their dials.
func (d *drawer) runs() {
	d.set("workload.runs", from(d, "runs", "1", "2"))
	own := plans.DrawnKnobs(func(k plans.Knob) bool { return k.Needs != nil && k.Needs.Drawn == plans.HasRuns.Drawn })
	for range d.upTo(4, "dials of runs") {
		d.turn(evenly(d, "dial of runs", own...))
	}
}

// poison adds messages that nobody can read.
func (d *drawer) poison(int) { d.set("workload.poison", from(d, "poison", "1", "2")) }
