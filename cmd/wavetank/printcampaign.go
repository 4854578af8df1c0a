package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// campaign says what is about to run.
func (p *printer) campaign(dir string, spec campaign.Spec) {
	d := spec.Drawn
	what := "drawn plans"
	if len(d.Plans) > 0 {
		what = plural(len(d.Plans), "perturbed scenario")
	}
	budget := plural(spec.Runs, "run")
	if spec.Budget > 0 {
		budget = spec.Budget.String()
	}
	if len(d.Presets) > 0 {
		what += ", preset " + strings.Join(d.Presets, " and ")
	}
	p.line("%s: %s, seed %d, %s", p.paint(bold, spec.Name), what, spec.Seed, budget)
	for _, set := range d.Sets {
		p.line("  %s", set)
	}
	for _, name := range d.Judged {
		p.line("  %s is judged whatever its promise", name)
	}
	p.line("  %s", dir)
	p.line("")
}

// found says what a campaign found.
func (p *printer) found(dir string, res *campaign.Result) {
	for i := range res.Findings {
		p.finding(dir, &res.Findings[i])
	}
	if res.Runs == 0 {
		p.line("%s  no run was over", p.paint(yellow, "NOTHING RUN"))
		return
	}
	switch {
	case len(res.Findings) == 0 && res.Unexamined > 0:
		p.line("%s  %s of %s broke a promise, not examined yet", p.paint(red, "FOUND"), plural(res.Unexamined, "run"), thousands(res.Runs))
	case len(res.Findings) > 0:
		p.line("%s  %s in %s", p.paint(red, "FOUND"), plural(len(res.Findings), "way")+" to break a promise", plural(res.Runs, "run"))
		if res.Unexamined > 0 {
			p.line("  %s more broke one and were not examined", plural(res.Unexamined, "run"))
		}
	default:
		p.line("%s  no promise was broken in %s: at most %s of such plans break one (3/n, 95 %% confidence)",
			p.paint(green, "NOTHING FOUND"), plural(res.Conclusive, "conclusive run"), percent(res.Bound))
	}
	p.missing("never drawn", res.Faults, func(c campaign.Coverage) bool { return c.Drawn == 0 })
	p.missing("never changed", res.Settings, func(c campaign.Coverage) bool { return c.Drawn == 0 })
	p.missing("never exercised", res.Invariants, func(c campaign.Coverage) bool { return c.Exercised == 0 && c.Kind != "sometimes" })
	p.missing("never reached", res.Invariants, func(c campaign.Coverage) bool { return c.Exercised == 0 && c.Kind == "sometimes" })
	p.line("%s (%s), %s, %s of virtual time, digest %s", plural(res.Runs, "run"), verdicts(res), plural(res.Steps, "step"), virtualTime(res.Virtual), res.Digest)
}

func (p *printer) finding(dir string, f *campaign.Finding) {
	p.line("%s  %s: %s", p.paint(red, "FINDING"), f.Invariant, f.Cause)
	p.line("  %s", f.Story)
	p.line("  %s, %s, %s, %s, after %s of shrinking; first seen in run %d, in %s in all",
		plural(f.Jobs, "job"), plural(f.Faults, "fault"), plural(f.Schedulers, "scheduler"), plural(f.Workers, "worker"),
		plural(f.Tries, "run"), f.First, plural(f.Runs, "run"))
	p.line("  Plan:   %s", in(dir, f.File))
	p.line("  Replay: %s", replayOf(dir, f))
	p.line("")
}

// replayOf is the command that runs a finding's plan from here.
func replayOf(dir string, f *campaign.Finding) string {
	return pasteable(scenarios.RunCommand(in(dir, f.File)))
}

// missing names what a campaign did not meet.
func (p *printer) missing(what string, all []campaign.Coverage, is func(campaign.Coverage) bool) {
	const namesMax = 5
	var names []string
	for _, c := range all {
		if is(c) {
			names = append(names, c.Name)
		}
	}
	switch n := len(names); {
	case n > namesMax:
		p.line("  %s: %d of %d, such as %s", what, n, len(all), strings.Join(names[:namesMax], ", "))
	case n > 0:
		p.line("  %s: %s", what, strings.Join(names, ", "))
	}
}

func verdicts(res *campaign.Result) string {
	var parts []string
	for v, n := range res.Verdicts {
		parts = append(parts, fmt.Sprintf("%s %s", thousands(n), v))
	}
	if res.Contained > 0 {
		parts = append(parts, fmt.Sprintf("%s out of bounds", thousands(res.Contained)))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// percent writes a share with three digits that count.
func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }
