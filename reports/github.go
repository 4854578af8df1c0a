package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

// Bounds of what GitHub Actions shows of one step.
const (
	annotationsMax  = 10      // of one level; it drops the rest
	summaryBytesMax = 1 << 20 // a longer summary is refused whole
	summaryPlanMax  = 4 << 10 // of a finding's plan
)

// Annotations writes the workflow commands by which a job on GitHub Actions shows a campaign's
// findings: an error for each, or a notice with the bound if there are none.
func Annotations(w io.Writer, res *campaign.Result) error {
	var b strings.Builder
	name := "wavetank " + res.Spec.Name
	shown, left := res.Groups(), len(res.Findings)
	if len(shown) > annotationsMax {
		shown = shown[:annotationsMax-1]
	}
	for _, g := range shown {
		f, same := g[0], ""
		if n := len(g) - 1; n > 0 {
			same = "\n" + words.Counted(n, "more finding") + " of this cause"
		}
		left -= len(g)
		b.WriteString(command("error", f.Invariant+" ("+name+")", clipStory(f)+"\n"+causeOf(f)+"Replay, in the campaign's folder: "+f.Replay+same))
	}
	if left > 0 {
		b.WriteString(command("error", name, words.Counted(left, "more finding")+"; the job's summary and the report have them."))
	}
	_, says := campaignVerdict(res)
	switch {
	case len(shown) > 0:
	case anythingFound(res):
		b.WriteString(command("error", name, says))
	default:
		b.WriteString(command("notice", name, says))
	}
	for _, warning := range campaignWarnings(res) {
		b.WriteString(command("warning", name, warning))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var (
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// command is one workflow command. Its message may have several lines.
func command(level, title, message string) string {
	return fmt.Sprintf("::%s title=%s::%s\n", level, escapeProperty.Replace(title), escapeData.Replace(message))
}

// Summary writes a campaign as the Markdown of a job's summary on GitHub Actions: the outcome, the
// findings, and what was never met. It stays below the size that GitHub takes.
func Summary(w io.Writer, res *campaign.Result) error {
	outcome, says := campaignVerdict(res)
	var b strings.Builder
	fmt.Fprintf(&b, "## Wavetank %s: %s\n\n%s\n\n", markText(res.Spec.Name), outcome.Word, markText(says))
	for _, warning := range campaignWarnings(res) {
		fmt.Fprintf(&b, "> %s\n\n", markText(warning))
	}
	findings, left := words.Capped(res.Findings, findingsMax)
	if len(findings) > 0 {
		markRow(&b, []string{"finding", "what happens", "cause", "smallest plan", "runs"})
		markRow(&b, []string{"---", "---", "---", "---", "--:"})
	}
	for i := range findings {
		f := &findings[i]
		name := markCode(f.Invariant)
		if f.Flaky {
			name += " (not deterministic)"
		}
		markRow(&b, []string{name, markText(clipStory(f)), markText(clip(f.Cause)), smallest(f), words.Count(f.Runs)})
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n%s left out; result.json has them all.\n", words.Counted(left, "more finding"))
	}
	for i := range findings {
		b.WriteString(markFinding(&findings[i]))
	}
	source, _ := sourceOf(&res.Spec)
	fmt.Fprintf(&b, "\n%s, %s, %s of virtual time. Plans: %s; seed %d, digest %s.\n",
		words.Counted(res.Runs, "run"), words.Counted(res.Steps, "step"), words.Duration(res.Virtual), markText(source), res.Spec.Seed, markCode(res.Digest))
	c := coverageOf(res)
	for _, m := range []missing{c.NeverJudged, c.NeverReached, c.NeverDrawn, c.NeverFired, c.NeverSet} {
		b.WriteString(markMissing(m))
	}
	return writeSummary(w, b.String())
}

// markFinding is what replays one finding: the command, and the plan for who has no artifact.
func markFinding(f *campaign.Finding) string {
	plan, left := beginning(f.Plan, summaryPlanMax)
	var b strings.Builder
	fmt.Fprintf(&b, "\n<details><summary>Replay %s, in the campaign's folder</summary>\n\n%s\n%s", markText(f.Invariant), markBlock("sh", clip(f.Replay)), markBlock("yaml", plan))
	if left > 0 {
		fmt.Fprintf(&b, "\n%s left out; %s has them.\n", words.Counted(left, "more byte"), markCode(f.File))
	}
	if detail, left := beginning(f.Detail, summaryPlanMax); detail != "" {
		b.WriteString("\n" + markBlock("", detail))
		if left > 0 {
			fmt.Fprintf(&b, "\n%s left out; result.json has them.\n", words.Counted(left, "more byte"))
		}
	}
	b.WriteString("\n</details>\n")
	return b.String()
}

func markMissing(m missing) string {
	if len(m.Names) == 0 {
		return ""
	}
	names := markCodes(m.Names)
	if m.Left > 0 {
		names = append(names, words.Count(m.Left)+" more")
	}
	if m.Many() {
		return fmt.Sprintf("\n<details><summary>%s %s of %s</summary>\n\n%s\n\n</details>\n", m.What, words.Count(m.Count()), words.Count(m.Of), strings.Join(names, ", "))
	}
	return fmt.Sprintf("\n**%s** %s\n", m.What, strings.Join(names, ", "))
}

// SweepSummary writes a sweep as the Markdown of a job's summary: the question, the answer with its
// rows, and the points where a promise was broken.
func SweepSummary(w io.Writer, res *sweep.Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## Wavetank sweep %s\n\n%s\n\n", markText(res.Name), markText(res.Question))
	fmt.Fprintf(&b, "**%s**\n\n", markText(sweepLead(res)))
	rows, left := words.Capped(res.Answer.Rows, findingsMax)
	for _, r := range rows {
		line := "nothing to take"
		if r.Take != "" {
			line = "take " + markCode(r.Take) + ", " + string(r.Sure)
		}
		if len(r.Under) > 0 {
			line = markText(clip(strings.Join(shown(r.Under), ", "))) + ": " + line
		}
		if line += ": " + markText(clip(r.Says)); r.Price != "" {
			line += "; the price: " + markText(clip(r.Price))
		}
		fmt.Fprintf(&b, "- %s\n", line)
	}
	if left > 0 {
		fmt.Fprintf(&b, "- %s more\n", words.Count(left))
	}
	for _, warning := range sweepWarnings(res) {
		fmt.Fprintf(&b, "\n> %s\n", markText(warning))
	}
	var axes []string
	for _, a := range res.Axes {
		axes = append(axes, markCode(a.Setting)+" "+markText(clip(strings.Join(shown(a.Values), ", "))))
	}
	fmt.Fprintf(&b, "\n%s, each under %s: %s.\n", words.Counted(len(res.Points), "point"), sweepSeeded(res), strings.Join(axes, "; "))
	return writeSummary(w, b.String())
}

// writeSummary cuts what GitHub would refuse. The caps above keep whole what is of a usual size.
func writeSummary(w io.Writer, summary string) error {
	const end = "\n\nThe rest is too long for a summary; the report has it.\n"
	if len(summary) > summaryBytesMax-1 {
		cut, _ := beginning(summary, summaryBytesMax-1-len(end))
		summary = cut + end
	}
	_, err := io.WriteString(w, summary)
	return err
}
