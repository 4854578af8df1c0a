package reports

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// Caps of a campaign's page. Its result.json has all.
const (
	findingsMax  = 50
	reasonsMax   = 20
	planBytesMax = 16 << 10 // of a finding's plan
	stackMax     = 16 << 10 // bytes of a finding's stack, or dump
)

var campaignTemplate = pageTemplateOf("campaign.html")

// campaignView is what the template sees.
type campaignView struct {
	frame
	*campaign.Result
	Badge        badge
	Says         string
	Warnings     []string
	Source       string
	Budget       string
	VirtualTime  string
	Shown        []findingRow
	FindingsLeft int
	coverage
	VerdictRows []verdictRow
	ReasonRows  []reasonRow
	ReasonsLeft int
}

type findingRow struct {
	campaign.Finding
	Number    int
	Contained bool
	Smallest  string // its size in words
	GroupRuns int    // that show one of its group
	Others    []findingRow
	Same      int // others, those included that are not shown
	FoundIn   string
	Page      string // relative; empty if there is none
	PlanLeft  int    // bytes that are not shown
	StackLeft int
}

type verdictRow struct {
	Badge badge
	Runs  int
	Bar   bar
}

type reasonRow struct {
	Reason string
	Runs   int
}

// WriteCampaign writes report.html into the folder dir of a campaign, beside the result.json and the
// findings that the campaign itself wrote: what was found, or the bound if nothing was, and what the campaign met and
// did not meet. Findings are linked to their plans, and to the pages of their runs that are there; see [FindingPage].
// Their commands to replay call program, and name the plans from where the caller is, as dir does.
func WriteCampaign(dir, program string, res *campaign.Result) error {
	there := func(page string) bool {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(page)))
		return err == nil && info.Mode().IsRegular()
	}
	placed := *res
	placed.Findings = slices.Clone(res.Findings)
	for i := range placed.Findings {
		placed.Findings[i].Replay = FindingReplay(dir, program, &res.Findings[i])
	}
	return writeAll(dir, []file{{PageFile, func(w io.Writer) error { return campaignPage(w, &placed, there) }}})
}

// FindingPage is where the page of the run of f's smallest plan belongs, in the campaign's folder.
func FindingPage(f *campaign.Finding) string {
	return strings.TrimSuffix(f.File, path.Ext(f.File)) + ".html"
}

// FindingReplay is the command that has program replay f, which the campaign in dir has found.
func FindingReplay(dir, program string, f *campaign.Finding) string {
	return scenarios.RunCommand(program, path.Join(filepath.ToSlash(dir), f.File))
}

func campaignPage(w io.Writer, res *campaign.Result, there func(page string) bool) error {
	outcome, says := campaignVerdict(res)
	source, _ := sourceOf(&res.Spec)
	v := campaignView{
		frame:  newFrame(fmt.Sprintf("%s: %s", res.Spec.Name, outcome.Word), pageCSS, overviewCSS),
		Result: res, Badge: outcome, Says: says, Warnings: campaignWarnings(res), Source: source,
		Budget: budgetOf(&res.Spec), VirtualTime: words.Duration(res.Virtual), coverage: coverageOf(res),
		VerdictRows: verdictRows(res),
	}
	v.FindingsLeft = max(0, len(res.Findings)-findingsMax)
	shown := 0
	for _, g := range res.Groups() {
		if shown >= findingsMax {
			break
		}
		var rows []findingRow
		for _, f := range g[:min(len(g), findingsMax-shown)] {
			shown++
			rows = append(rows, findingRowOf(f, shown, res.Runs, there))
		}
		rows[0].Others, rows[0].Same, rows[0].GroupRuns = rows[1:], len(g)-1, g.Runs()
		v.Shown = append(v.Shown, rows[0])
	}
	v.ReasonRows, v.ReasonsLeft = reasonRows(res.Reasons)
	return execute(w, campaignTemplate, v)
}

// anythingFound says whether anything stands against a campaign, examined or not.
func anythingFound(res *campaign.Result) bool {
	return len(res.Findings)+res.Unexamined+res.Contained+res.Verdicts[scenarios.Violated] > 0
}

// campaignVerdict is the outcome in a word or two, and in a sentence.
func campaignVerdict(res *campaign.Result) (badge, string) {
	switch {
	case anythingFound(res):
		hurt := res.Verdicts[scenarios.Violated] + res.Contained
		says := fmt.Sprintf("%s of %s broke a promise", words.Count(hurt), words.Counted(res.Runs, "run"))
		if res.Contained > 0 {
			says += fmt.Sprintf(", or took the process down (%s)", words.Count(res.Contained))
		}
		if len(res.Findings) == 0 {
			return badge{"not examined yet", "bad"}, says + "."
		}
		found := words.Counted(len(res.Findings), "finding")
		if groups := len(res.Groups()); groups < len(res.Findings) {
			found += ", " + words.Counted(groups, "cause")
		}
		return badge{found, "bad"}, says + "."
	case res.Runs == 0:
		return badge{"nothing was run", "warn"}, "The campaign ended before its first run was over."
	}
	sure, tone := res.Bound > 0, "good"
	if res.Spec.IsList() {
		sure = res.Verdicts[scenarios.Inconclusive] == 0
	}
	if !res.Complete || !sure {
		tone = "warn"
	}
	return badge{"nothing found", tone}, BoundInWords(res)
}

// BoundInWords says what a campaign that found nothing has shown.
func BoundInWords(res *campaign.Result) string {
	const why = "an invariant was not judged, once one that it needs was violated"
	if res.Spec.IsList() {
		open := ""
		if n := res.Verdicts[scenarios.Inconclusive]; n > 0 {
			open = fmt.Sprintf("; %s could not be judged", words.Count(n))
		}
		if n := res.Unjudged; n > 0 {
			open += fmt.Sprintf("; in %s %s", words.Count(n), why)
		}
		return fmt.Sprintf("No promise was broken in %s%s.", words.Counted(res.Runs, "run"), open)
	}
	if res.Bound <= 0 || res.Bound >= 1 {
		return fmt.Sprintf("No promise was broken in %s, which is too few to bound how often one may be.", words.Counted(res.Conclusive, "conclusive run"))
	}
	_, plans := sourceOf(&res.Spec)
	n := int(math.Round(3 / res.Bound))
	bound := fmt.Sprintf("No promise was broken in %s conclusive runs: at most 3/%s = %s of the %s break one, with 95 %% confidence (rule of three).",
		words.Count(n), words.Count(n), words.Percentage(res.Bound), plans)
	if res.Unjudged > 0 {
		bound += fmt.Sprintf(" That leaves out %s in which %s.", words.Counted(res.Unjudged, "run"), why)
	}
	return bound
}

func campaignWarnings(res *campaign.Result) (warnings []string) {
	if !res.Complete {
		warnings = append(warnings, "It was stopped before its budget was used up; what is here is of the runs that were over.")
	}
	switch {
	case res.Unexamined > 0 && !res.Complete:
		warnings = append(warnings, fmt.Sprintf("Not examined yet: %s that broke a promise. The campaign examines them when it goes on.", words.Counted(res.Unexamined, "run")))
	case res.Unexamined > 0:
		warnings = append(warnings, fmt.Sprintf("%s broke a promise after as many findings as are examined, and may be other ways to break one.", words.Counted(res.Unexamined, "more run")))
	}
	if n := res.Verdicts[scenarios.Inconclusive]; 2*n > res.Runs {
		often := ""
		if rows, _ := reasonRows(res.Reasons); len(rows) > 0 {
			often = " (most often: " + rows[0].Reason + ")"
		}
		warnings = append(warnings, fmt.Sprintf("%s of the runs were inconclusive%s.", words.Percentage(float64(n)/float64(res.Runs)), often))
	}
	return warnings
}

// sourceOf says where the plans of a campaign come from, and which plans its bound is about, if it has one.
func sourceOf(spec *campaign.Spec) (source, plans string) {
	switch {
	case spec.Grid != nil:
		return fmt.Sprintf("%s at %s under %s", words.Counted(len(spec.Grid.Plans), "plan"), words.Counted(len(spec.Grid.Points), "point"), words.Counted(spec.Grid.Seeds, "seed")), "plans and seeds of this grid"
	case spec.Struck != nil:
		noun, plural := "single fault", "single faults"
		if len(spec.Struck.Sets) > 0 {
			noun, plural = "pair of faults", "pairs of faults"
		}
		return "one plan, and " + words.Counted(spec.Struck.Size(), noun, plural) + " on it", ""
	case spec.Given != nil:
		return words.Counted(len(spec.Given), "plan"), ""
	case spec.Drawn == nil:
		return "", "plans of this distribution"
	}
	presets := ", preset " + invariants.List(spec.Drawn.Presets)
	if len(spec.Drawn.Presets) == 0 {
		presets = ""
	}
	if n := len(spec.Drawn.Plans); n > 0 {
		return "perturbations of " + invariants.List(planNames(spec.Drawn.Plans)) + presets, "plans of this distribution"
	}
	return "drawn from nothing" + presets, "plans of this distribution"
}

// planNames are the names of plans in YAML.
func planNames(plans []string) (names []string) {
	for _, text := range plans {
		name := "a plan"
		for line := range strings.Lines(text) {
			if value, ok := strings.CutPrefix(line, "name:"); ok {
				name = strings.TrimSpace(value)
				break
			}
		}
		names = append(names, name)
	}
	names, left := words.Capped(names, 12)
	if left > 0 {
		names = append(names, fmt.Sprintf("%s more", words.Count(left)))
	}
	return names
}

func budgetOf(spec *campaign.Spec) string {
	var parts []string
	if spec.Runs > 0 {
		parts = append(parts, words.Counted(spec.Runs, "run"))
	}
	if spec.Budget > 0 {
		parts = append(parts, words.Duration(spec.Budget))
	}
	budget := strings.Join(parts, " or ")
	if part := spec.Part(); part != "" {
		return budget + ", " + part
	}
	return budget
}

func findingRowOf(f *campaign.Finding, number, runs int, there func(string) bool) findingRow {
	r := findingRow{Finding: *f, Number: number, Contained: f.Verdict == ""}
	r.Smallest = smallest(f)
	r.FoundIn = fmt.Sprintf("%s of %s, run %s first", words.Count(f.Runs), words.Counted(runs, "run"), words.Count(f.First))
	if page := FindingPage(f); !r.Contained && there(page) {
		r.Page = page
	}
	r.Story, r.Cause, r.Why, r.Replay = clipStory(f), clip(f.Cause), clip(f.Why), clip(f.Replay)
	r.Plan, r.PlanLeft = beginning(f.Plan, planBytesMax)
	r.Detail, r.StackLeft = beginning(f.Detail, stackMax)
	return r
}

// storyMax is how long the story of a finding may be, in bytes.
const storyMax = 4 * textMax

// clipStory is the story of a finding. Of one that is too long whole sentences are left out, before the one that says
// what is broken.
func clipStory(f *campaign.Finding) string {
	at := strings.LastIndex(f.Story, f.Invariant+" is broken: ")
	if len(f.Story) <= storyMax {
		return f.Story
	}
	if at < 0 {
		return clip(f.Story)
	}
	begin := strings.LastIndex(f.Story[:at], ". ") + 1 // of its sentence
	room := min(begin, storyMax-min(storyMax, len(f.Story)-begin))
	return f.Story[:strings.LastIndex(f.Story[:room+1], ". ")+1] + clip(f.Story[begin:])
}

// causeOf says in a line or two what the finding's plan has, and what its violation hangs on.
func causeOf(f *campaign.Finding) string {
	says := "Cause: " + clip(f.Cause) + "\n"
	if f.Why != "" {
		says += "Why: " + clip(f.Why) + "\n"
	}
	return says
}

// smallest says how large a finding's plan is.
func smallest(f *campaign.Finding) string {
	return invariants.List([]string{
		words.Counted(f.Jobs, "job"), words.Counted(f.Faults, "fault"), words.Counted(f.Schedulers, "scheduler"), words.Counted(f.Workers, "worker"),
	})
}

// beginning is that of s, in whole lines if it can be, and how many bytes come after it.
func beginning(s string, bytesMax int) (string, int) {
	if len(s) <= bytesMax {
		return s, 0
	}
	cut := strings.ToValidUTF8(s[:bytesMax], "")
	if i := strings.LastIndexByte(cut, '\n'); i > 0 {
		cut = cut[:i+1]
	}
	return cut, len(s) - len(cut)
}

func verdictRows(res *campaign.Result) (rows []verdictRow) {
	add := func(b badge, n int) {
		if n > 0 {
			rows = append(rows, verdictRow{b, n, barOf(n, 0, res.Runs)})
		}
	}
	for _, v := range []scenarios.Verdict{scenarios.Violated, scenarios.Inconclusive, scenarios.Held} {
		add(verdictBadge(v), res.Verdicts[v])
		if v == scenarios.Violated {
			add(badge{"out of bounds", "bad"}, res.Contained)
		}
	}
	return rows
}

func reasonRows(reasons map[string]int) (rows []reasonRow, left int) {
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		rows = append(rows, reasonRow{clip(reason), reasons[reason]})
	}
	slices.SortStableFunc(rows, func(a, b reasonRow) int { return cmp.Compare(b.Runs, a.Runs) })
	return words.Capped(rows, reasonsMax)
}
