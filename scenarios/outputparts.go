package scenarios

import (
	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

func checkOutput(p *Plan) *strictyaml.Error {
	if p.Engine.Output.Enabled && !p.Kernel.on() {
		return &strictyaml.Error{Path: "engine.output.enabled", Message: "engine.output.enabled is true, and there is no kernel to ask", Remedy: "give the plan a kernel, such as kernel: {default: ALLOW}, or turn it off"}
	}
	return nil
}

// outputs has a plan with a kernel ask it about outputs, too, and draws what it decides of them.
func (d *drawer) outputs() {
	if !d.p.Kernel.on() {
		return
	}
	if d.oneIn(2, "an output policy") {
		d.set("engine.output.enabled", "true")
	}
	if !d.p.Engine.Output.Enabled {
		return
	}
	dials := drawnKnobs(func(k knob) bool { return k.needs == hasOutputs })
	for range d.upTo(2, "output dials") {
		d.turn(evenly(d, "output dial", dials...))
	}
	for range d.upTo(2, "output rules") {
		d.p.Kernel.Output = append(d.p.Kernel.Output, d.outputRule())
	}
}

func (d *drawer) outputRule() kernel.OutputRule {
	r := kernel.OutputRule{Sync: d.oneIn(2, "of metadata"), Decision: from(d, "output decision", kernel.Quarantine, kernel.Deny, kernel.Redact, kernel.Allow)}
	if r.Decision == kernel.Redact && d.oneIn(2, "redacted") {
		r.RedactedPtr = "{result_ptr}:redacted"
	}
	if d.oneIn(3, "of all outputs") {
		r.Topic = "job.*"
	} else {
		r.JobID = JobID(d.job("job of an output rule"))
	}
	return r
}
