package diffcmd

import (
	"cmp"
	"fmt"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/diff"
)

const (
	valueMax   = 36  // bytes of a value that shares its line with another
	clipAt     = 160 // runes of a longer one
	storyFirst = 13  // sentences of the stories that are printed, from the parting on
	storyLast  = 6   // and from their end
)

func show(p *cli.Printer, d *diff.Difference, page string) {
	printSide(p, "A", &d.A)
	printSide(p, "B", &d.B)
	verdict := p.Paint(cli.Green, "EQUAL")
	if !d.Equal {
		verdict = p.Paint(cli.Yellow, "NOT EQUAL")
	}
	p.Line("\n%s  %s", verdict, d.Says())
	printPlans(p, d)
	printVerdicts(p, d)
	printParting(p, d.Parting)
	printStory(p, d)
	if page != "" {
		p.Line("\nPage: %s", page)
	} else {
		p.Line("\nAs a page: --out diff.html")
	}
}

func printSide(p *cli.Printer, letter string, s *diff.Side) {
	p.Line("%s  %s: %s, preset %s, seed %d, %s", p.Paint(cli.Bold, letter), s.Dir, s.Scenario, s.Preset, s.Seed, cli.Plural(s.Steps, "step"))
}

func printPlans(p *cli.Printer, d *diff.Difference) {
	given, follow := d.Given()
	p.Line("\n%s", p.Paint(cli.Bold, "Plans and builds"))
	for i, v := range given {
		if i == cli.ShownMax {
			p.Line("  ... and %d more", len(given)-i)
			break
		}
		printValue(p, "  ", v)
	}
	if len(follow) > 0 {
		p.Line("  and %s as the presets have them; --json and --out list all", cli.Plural(len(follow), "setting"))
	}
	if len(d.Plans) == 0 {
		p.Line("  The plans are equal.")
	}
	p.Line("  %s", d.Builds())
}

func printValue(p *cli.Printer, indent string, v diff.Value) {
	a, b := cmp.Or(v.A, "none"), cmp.Or(v.B, "none")
	if len(a) <= valueMax && len(b) <= valueMax {
		p.Line("%s%s: A %s, B %s", indent, v.Key, a, b)
		return
	}
	p.Line("%s%s:", indent, v.Key)
	p.Line("%s  A %s", indent, clip(a))
	p.Line("%s  B %s", indent, clip(b))
}

func clip(text string) string {
	if runes := []rune(text); len(runes) > clipAt {
		return string(runes[:clipAt]) + "..."
	}
	return text
}

func printVerdicts(p *cli.Printer, d *diff.Difference) {
	p.Line("\n%s", p.Paint(cli.Bold, "Verdicts"))
	p.Line("  A %s: %s.", d.A.Verdict, d.A.Reason)
	p.Line("  B %s: %s.", d.B.Verdict, d.B.Reason)
	violation := func(v scenarios.Violation) string {
		outside := ""
		if !v.Promised {
			outside = ", outside its promise"
		}
		return fmt.Sprintf("%s%s: step %d, %s: %s", v.Invariant, outside, v.Step, words.Instant(v.At), v.Message)
	}
	cli.Section(p, "Violations that only A has", d.A.Alone, violation)
	cli.Section(p, "Violations that only B has", d.B.Alone, violation)
}

func printParting(p *cli.Printer, at *diff.Parting) {
	if at == nil {
		return
	}
	p.Line("\n%s", p.Paint(cli.Bold, "Where they part"))
	for i := range at.Common {
		printPoint(p, "both", &at.Common[i])
	}
	printPoint(p, "A", at.A)
	printPoint(p, "B", at.B)
	for i, v := range at.Differ {
		if i == 0 {
			p.Line("  The two events differ in:")
		}
		printValue(p, "    ", v)
	}
}

func printPoint(p *cli.Printer, of string, at *diff.Point) {
	if at == nil {
		p.Line("  %-4s  %s", of, diff.Over)
		return
	}
	p.Line("  %-4s  step %d, %s: %s", of, at.Step, words.Instant(at.At), at.Says)
}

func printStory(p *cli.Printer, d *diff.Difference) {
	story := d.Story
	if len(story) == 0 {
		return
	}
	p.Line("\n%s", p.Paint(cli.Bold, "What came of it"))
	if note := d.TellsOf(); note != "" {
		p.Line("  %s", note)
	}
	left := len(story) - storyFirst - storyLast
	for i := range story {
		switch {
		case left > 1 && i == storyFirst:
			p.Line("  ... %s left out; --json and --out have them", cli.Plural(left, "sentence"))
		case left > 1 && i > storyFirst && i < storyFirst+left:
		default:
			p.Line("  %-4s  %s", story[i].Of(), story[i].Says)
		}
	}
}
