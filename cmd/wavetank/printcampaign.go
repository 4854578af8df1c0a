package main

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// printCampaign says what is about to run.
func printCampaign(p *cli.Printer, dir string, spec campaign.Spec) {
	d := spec.Drawn
	what := "drawn plans"
	if len(d.Plans) > 0 {
		what = cli.Plural(len(d.Plans), "perturbed scenario")
	}
	budget := cli.Plural(spec.Runs, "run")
	if spec.Budget > 0 {
		budget = spec.Budget.String()
	}
	if len(d.Presets) > 0 {
		what += ", preset " + strings.Join(d.Presets, " and ")
	}
	p.Line("%s: %s, seed %d, %s", p.Paint(cli.Bold, spec.Name), what, spec.Seed, budget)
	for _, set := range d.Sets {
		p.Line("  %s", set)
	}
	for _, name := range d.Judged {
		p.Line("  %s is judged even outside of its promise", name)
	}
	if spec.Shard != nil {
		p.Line("  %s", spec.Part())
	}
	p.Line("  %s", dir)
	p.Line("")
}

// printFound says what a campaign found.
func printFound(p *cli.Printer, dir string, res *campaign.Result) {
	printFindings(p, dir, res)
	if res.Runs == 0 {
		p.Line("%s  no run was finished", p.Paint(cli.Yellow, "NOTHING RUN"))
		return
	}
	switch {
	case len(res.Findings) == 0 && res.Unexamined > 0:
		p.Line("%s  %s of %s broke a promise and were not examined yet", p.Paint(cli.Red, "FOUND"), cli.Plural(res.Unexamined, "run"), cli.Thousands(res.Runs))
	case len(res.Findings) > 0:
		p.Line("%s  %s in %s", p.Paint(cli.Red, "FOUND"), ways(res), cli.Plural(res.Runs, "run"))
		if res.Unexamined > 0 {
			p.Line("  not examined: %s more that broke a promise", cli.Plural(res.Unexamined, "run"))
		}
	case res.Conclusive == 0, res.Spec.IsList() && res.Conclusive < res.Runs:
		p.Line("%s  %s", p.Paint(cli.Yellow, "INCONCLUSIVE"), reports.BoundInWords(res))
	default:
		p.Line("%s  %s", p.Paint(cli.Green, "NOTHING FOUND"), reports.BoundInWords(res))
	}
	printMissing(p, "faults", "never drawn", res.Faults, func(c campaign.Coverage) bool { return c.Drawn == 0 })
	printMissing(p, "settings", "never changed", res.Settings, func(c campaign.Coverage) bool { return c.Drawn == 0 })
	situation := func(c campaign.Coverage) bool { return c.Kind == string(invariants.Sometimes) }
	judged := slices.DeleteFunc(slices.Clone(res.Invariants), situation)
	situations := slices.DeleteFunc(slices.Clone(res.Invariants), func(c campaign.Coverage) bool { return !situation(c) })
	printMissing(p, "invariants", "never exercised", judged, func(c campaign.Coverage) bool { return c.Exercised == 0 })
	printMissing(p, "situations", "never reached", situations, func(c campaign.Coverage) bool { return c.Exercised == 0 })
	printRuns(p, res)
}

// ways counts the findings, and what is to blame for them where that is less.
func ways(res *campaign.Result) string {
	found := cli.Plural(len(res.Findings), "way") + " to break a promise"
	if groups := len(res.Groups()); groups < len(res.Findings) {
		found += ", by " + cli.Plural(groups, "cause")
	}
	return found
}

// printFindings says of each group what its smallest plan shows, and which others there are.
func printFindings(p *cli.Printer, dir string, res *campaign.Result) {
	for _, g := range res.Groups() {
		printFinding(p, dir, g[0])
		if others := g[1:]; len(others) > 0 {
			const othersMax = 5
			p.Line("  %s with the same cause, in %s:", cli.Plural(len(others), "more finding"), cli.Plural(g.Runs()-g[0].Runs, "run"))
			for _, f := range others[:min(len(others), othersMax)] {
				p.Line("    %s: %s", in(dir, f.File), f.Cause)
			}
			if left := len(others) - othersMax; left > 0 {
				p.Line("    %d more; the report lists them all", left)
			}
		}
		p.Line("")
	}
}

// outOfBounds fails if the code under test took a worker process down in runs that were to be measured.
func outOfBounds(say *cli.Printer, dir string, res *campaign.Result) error {
	printFindings(say, dir, res)
	if len(res.Findings) > 0 || res.Unexamined > 0 {
		return cli.Fail(cli.ExitViolated, "the code under test went out of bounds in %s; the result leaves them out", cli.Plural(res.Contained, "run"))
	}
	return nil
}

func printFinding(p *cli.Printer, dir string, f *campaign.Finding) {
	p.Line("%s  %s: %s", p.Paint(cli.Red, "FINDING"), f.Invariant, f.Cause)
	p.Line("  %s", f.Story)
	if f.Why != "" {
		p.Line("  Why: %s", f.Why)
	}
	p.Line("  %s, %s, %s, %s, after %s of shrinking; first seen in run %d, in %s in all",
		cli.Plural(f.Jobs, "job"), cli.Plural(f.Faults, "fault"), cli.Plural(f.Schedulers, "scheduler"), cli.Plural(f.Workers, "worker"),
		cli.Plural(f.Tries, "run"), f.First, cli.Plural(f.Runs, "run"))
	p.Line("  Plan:   %s", in(dir, f.File))
	p.Line("  Replay: %s", reports.FindingReplay(dir, cli.ProgramName(), f))
}

// printMissing names what a campaign did not meet.
func printMissing(p *cli.Printer, of, what string, all []campaign.Coverage, is func(campaign.Coverage) bool) {
	const namesMax = 5
	var names []string
	for _, c := range all {
		if is(c) {
			names = append(names, c.Name)
		}
	}
	switch n := len(names); {
	case n > namesMax:
		p.Line("  %s: %s of %s %s, such as %s", what, cli.Thousands(n), cli.Thousands(len(all)), of, strings.Join(names[:namesMax], ", "))
	case n > 0:
		p.Line("  %s: the %s %s", what, of, strings.Join(names, ", "))
	}
}

func verdicts(res *campaign.Result) string {
	if res.Contained > 0 {
		return counts(res.Verdicts, cli.Thousands(res.Contained)+" out of bounds")
	}
	return counts(res.Verdicts)
}

// printPart says that the runs of a shard are made.
func printPart(p *cli.Printer, res *campaign.Result) {
	p.Line("DONE  %s", res.Spec.Part())
	printRuns(p, res)
	p.Line("With the other shards: %s", mergeCommand())
}

// mergeCommand puts the folders of shards together.
func mergeCommand() string { return cli.Pasteable("wavetank merge DIR... --out DIR") }

func printRuns(p *cli.Printer, res *campaign.Result) {
	p.Line("%s (%s), %s, %s of virtual time, digest %s", cli.Plural(res.Runs, "run"), verdicts(res), cli.Plural(res.Steps, "step"), words.Duration(res.Virtual), res.Digest)
}
