package search

import (
	"time"

	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
)

// permit gives a plan a safety kernel that allows jobs, and says whether it has one then.
func (d *drawer) permit() bool {
	d.set("kernel.default", "ALLOW")
	return d.p.Kernel.On()
}

// kernel draws what a plan's safety kernel decides, at first and later.
func (d *drawer) kernel() {
	k := &d.p.Kernel
	if !k.On() {
		return
	}
	for range d.upTo(2, "rules") {
		k.Rules = append(k.Rules, d.rule())
	}
	if d.oneIn(4, "another policy") {
		k.Then = append(k.Then, plans.KernelChange{At: d.instant(), Rules: []kernel.Rule{d.rule()}})
	}
	if d.oneIn(8, "gone") {
		d.trip()
	}
}

// trip takes the safety kernel away while jobs come, for so long that its circuit opens.
func (d *drawer) trip() {
	f := faults.Fault{At: 2*plans.Boot + time.Duration(1+d.upTo(9, "at"))*100*time.Millisecond, Do: faults.Crash, Node: actors.KernelName}
	if gone := from(d, "gone for", time.Minute, 10*time.Second); d.oneIn(2, "by a pause") {
		f.Do, f.For = faults.Pause, gone
	} else {
		f.RestartIn = gone
	}
	d.add(f)
}

// throttle makes the safety kernel throttle a job for a while.
func (d *drawer) throttle(job int) {
	k := &d.p.Kernel
	if !k.On() {
		return
	}
	later := append([]kernel.Rule{{JobID: plans.JobID(job), Decision: kernel.Allow}}, k.Rules...)
	d.decide(kernel.Rule{JobID: plans.JobID(job), Decision: kernel.Throttle})
	k.Then = append(k.Then, plans.KernelChange{At: d.instant(), Rules: later})
}

// decide adds a rule that counts before the others.
func (d *drawer) decide(r kernel.Rule) {
	d.p.Kernel.Rules = append([]kernel.Rule{r}, d.p.Kernel.Rules...)
}

// override makes a job ask for one zone, and the safety kernel for another.
func (d *drawer) override(job int) {
	if !d.permit() {
		return
	}
	d.set("topology.zones", "2")
	d.set("topology.workers", "2")
	d.set("workload.label."+nth(job), "placement.zone=zone-1")
	d.decide(kernel.Rule{JobID: plans.JobID(job), Decision: kernel.AllowWithConstraints, Constraints: "placement.zone=zone-2"})
}

// quarantine makes the output policy block the output of a job, when its result comes or later.
func (d *drawer) quarantine(job int) {
	d.permit()
	d.set("engine.output.enabled", "true")
	if d.p.Kernel.On() && d.p.Engine.Output.Enabled {
		r := kernel.OutputRule{JobID: plans.JobID(job), Sync: d.oneIn(2, "of metadata"), Decision: from(d, "blocked by", kernel.Quarantine, kernel.Deny)}
		d.p.Kernel.Output = append([]kernel.OutputRule{r}, d.p.Kernel.Output...)
	}
}

// rule draws a rule. It draws no approval and no throttling, which would hold jobs back for ever.
func (d *drawer) rule() kernel.Rule {
	r := kernel.Rule{Decision: from(d, "decision", kernel.Deny, kernel.Allow, kernel.AllowWithConstraints)}
	if r.Decision == kernel.AllowWithConstraints {
		r.Constraints = "preferred_worker_id=worker-1"
	}
	if d.oneIn(3, "of all jobs") {
		r.Topic = "job.*"
	} else {
		r.JobID = plans.JobID(d.job("job of a rule"))
	}
	return r
}

// approval makes a job wait for an approval, which comes.
func (d *drawer) approval(job int) {
	if !d.p.Kernel.On() {
		return
	}
	d.decide(kernel.Rule{JobID: plans.JobID(job), Decision: kernel.RequireApproval})
	d.set("workload.approve."+nth(job), from(d, "approved after", "1s", "1ms", "10s"))
}

// change makes a job that waits for its approval be submitted again with other content.
func (d *drawer) change(job int) {
	d.approval(job)
	d.set("workload.change."+nth(job), from(d, "changed after", "2s", "1ms", "500ms", "5s"))
}

// outputs makes a plan with a kernel use it for outputs, too, and draws what it decides about them.
func (d *drawer) outputs() {
	if !d.p.Kernel.On() {
		return
	}
	if d.oneIn(2, "an output policy") {
		d.set("engine.output.enabled", "true")
	}
	if !d.p.Engine.Output.Enabled {
		return
	}
	dials := plans.DrawnKnobs(func(k plans.Knob) bool { return k.Needs == plans.HasOutputs })
	for range d.upTo(2, "output dials") {
		d.turn(evenly(d, "output dial", dials...))
	}
	for range d.upTo(2, "output rules") {
		d.p.Kernel.Output = append(d.p.Kernel.Output, d.outputRule())
	}
}

func (d *drawer) outputRule() kernel.OutputRule {
	r := kernel.OutputRule{Sync: d.oneIn(2, "of metadata"), Decision: from(d, "output decision", kernel.Quarantine, kernel.Deny, kernel.Redact, kernel.Allow)}
	if r.Decision == kernel.Redact && r.Sync && d.oneIn(2, "redacted") {
		r.RedactedPtr = "{result_ptr}:redacted"
	}
	if d.oneIn(3, "of all outputs") {
		r.Topic = "job.*"
	} else {
		r.JobID = plans.JobID(d.job("job of an output rule"))
	}
	return r
}
