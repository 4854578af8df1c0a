package scenarios

import (
	"github.com/wavetank-sim/wavetank/engine/safety/kernel"
	"github.com/wavetank-sim/wavetank/invariants"
)

// What can be taken away of the output policy, and what plans draw of it.
var (
	outputToggles = []Toggle{
		{Setting: "output.recheck", Off: "false", Scenario: "output-scan-twice", Invariant: "quarantined-only-when-blocked",
			Says: "A scan that comes back late quarantines a job once more that another scan has quarantined, with a second entry in the audit trail."},
		{Setting: "output.durable_scans", Off: "false", Scenario: "output-scan-lost", Invariant: "every-output-is-scanned",
			Says: "A scheduler dies before it has scanned an output, and nobody does."},
	}
	outputDials = []dial{
		{name: "engine.output.check_timeout", values: []string{"200ms", "10s"}, with: "engine.output.enabled=true"},
		{name: "engine.output.scan_timeout", values: []string{"1s", "2m"}, with: "engine.output.enabled=true"},
		{name: "engine.output.durable_scans", values: []string{"true", "false"}, with: "engine.output.enabled=true"},
	}
)

func outputConfig(p *Plan) invariants.OutputConfig {
	o := &p.Engine.Output
	return invariants.OutputConfig{Enabled: o.Enabled, DurableScans: o.DurableScans, ScanTimeout: o.ScanTimeout}
}

func checkOutput(p *Plan) *PlanError {
	if p.Engine.Output.Enabled && !p.Kernel.on() {
		return &PlanError{Path: "engine.output.enabled", Message: "engine.output.enabled is true, and there is no kernel to ask", Remedy: "give the plan a kernel, such as kernel: {default: ALLOW}, or turn it off"}
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
	for range d.upTo(2, "output dials") {
		d.turn(evenly(d, "output dial", outputDials...))
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
