package main

import (
	"fmt"
	"strings"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
)

// printPlan says what is about to run: the plan, and every setting that is not its default.
func printPlan(p *cli.Printer, s *subject) {
	p.Line("%s, preset %s, seed %d", p.Paint(cli.Bold, s.Name), s.Preset, s.Seed)
	if lead := s.Lead(); lead != "" {
		p.Line("  %s", lead)
	}
	s.printChanges(p)
	for _, f := range s.Faults {
		p.Line("  fault: %s", f)
	}
	for _, name := range s.Expect.Judged {
		p.Line("  %s is judged even outside of its promise", name)
	}
	p.Line("")
}

// printResult says what came of it. The last line is the command that repeats it. Page is "" if there is none.
func printResult(p *cli.Printer, res *scenarios.Result, page string) {
	printVerdict(p, res)
	if c := res.Cause; c != nil {
		p.Line("\n%s", p.Paint(cli.Bold, "Why"))
		p.Line("  %s", c.Brief())
		if says := c.Holding(); says != "" {
			p.Line("  %s", says)
		}
	}
	p.Line("\n%s", p.Paint(cli.Bold, "Story"))
	for _, sentence := range res.Telling { // it has a bound of its own
		p.Line("  %s", sentence)
	}
	cli.Section(p, "Faults that fired", res.Fired, func(f scenarios.FiredFault) string {
		return fmt.Sprintf("%s: step %d, %s, %s", f.Fault, f.Step, words.Instant(f.At), f.Node)
	})
	cli.Section(p, "Faults that did not fire as they should", res.Unfired, func(s string) string { return s })
	cli.Section(p, "Without effect", res.Idle, func(s string) string { return s })
	var judged, beyond []scenarios.Violation
	for _, v := range res.Violations {
		if v.Promised {
			judged = append(judged, v)
		} else {
			beyond = append(beyond, v)
		}
	}
	violation := func(v scenarios.Violation) string {
		return fmt.Sprintf("%s: step %d, %s: %s", v.Invariant, v.Step, words.Instant(v.At), v.Message)
	}
	cli.Section(p, "Violated", judged, violation)
	cli.Section(p, "Broken outside of its promise", beyond, violation)
	cli.Section(p, "Not judged", notJudged(res), func(s string) string { return s })
	cli.Section(p, "Not settled", unsettled(res.Unsettled), func(s string) string { return s })
	cli.Section(p, "Still to come", res.Open, func(s string) string { return s })
	p.Line("\n%d steps, %s of virtual time, digest %s", res.Steps, words.Duration(res.Virtual), res.Digest)
	if s := res.PCT; s != nil {
		p.Line("pct: %s in %s, %s; bound 1/(n k^(d-1)) = 1/(%d x %d^%d) = %.2g for a bug of depth d = %d", cli.Plural(s.ChangePoints, "change point"),
			cli.Plural(s.Steps, "step"), cli.Plural(s.Actors, "actor"), s.Actors, s.Steps, s.ChangePoints, s.Bound, s.ChangePoints+1)
	}
	if page != "" {
		p.Line("Report: %s", page)
	}
	p.Line("Replay: %s", res.Replay)
}

// notJudged are the invariants that are not judged, for some job at least, once another was violated.
func notJudged(res *scenarios.Result) (says []string) {
	for _, i := range res.Invariants {
		if i.Status == scenarios.StatusNotJudged {
			says = append(says, fmt.Sprintf("%s: not judged any more, since %s was violated", i.Name, strings.Join(i.StoppedBy, " or ")))
		}
	}
	return says
}

func printVerdict(p *cli.Printer, res *scenarios.Result) {
	color := map[scenarios.Verdict]int{scenarios.Held: cli.Green, scenarios.Violated: cli.Red}[res.Verdict]
	if color == 0 {
		color = cli.Yellow
	}
	p.Line("%s  %s: %s.", p.Paint(color, strings.ToUpper(string(res.Verdict))), res.Scenario, res.Reason)
}

// unsettled says why jobs did not settle. Those without a record have one line for each reason.
func unsettled(list []scenarios.Unsettled) (says []string) {
	line, more := map[string]int{}, map[string]int{}
	for _, u := range list {
		_, said := line[u.Reason]
		switch {
		case u.State != "":
			says = append(says, fmt.Sprintf("%s is %s since %s: %s", u.Job, u.State, words.Instant(u.Since), u.Reason))
		case said:
			more[u.Reason]++
		default:
			line[u.Reason] = len(says)
			says = append(says, fmt.Sprintf("%s has no record: %s", u.Job, u.Reason))
		}
	}
	for reason, n := range more {
		says[line[reason]] += "; the same of " + cli.Plural(n, "more job")
	}
	return says
}
