package reports

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

func TestQuietCampaignStatesItsBound(t *testing.T) {
	page := campaignHTML(t, quietNight())
	header, _, _ := strings.Cut(page, "</header>")
	assert.Contains(t, header, `<div class="verdict good">`)
	assert.Contains(t, text(header), "nothing found No promise was broken in 12,000 conclusive runs: at most 3/12,000 = 0.025 % of the plans of this distribution break one, with 95 % confidence (rule of three).")
	assert.Contains(t, text(header), "plans drawn from nothing, preset documented and hardened")
	assert.Contains(t, text(sectionOf(t, page, "findings")), "None.")
	assert.NotContains(t, page, `class="findings"`)
}

// A campaign that was interrupted before it examined anything has found something all the same.
func TestACampaignTellsWhatItHasNotExamined(t *testing.T) {
	res := badNight()
	res.Complete = true
	assert.Contains(t, text(campaignHTML(t, res)), "3 more runs broke a promise after as many findings as are examined")
	res.Complete, res.Findings = false, nil
	header, _, _ := strings.Cut(campaignHTML(t, res), "</header>")
	assert.Contains(t, text(header), "not examined yet 418 of 12,000 runs broke a promise")
}

func TestFindingsAreToldWithWhatReplaysThem(t *testing.T) {
	page := campaignHTML(t, badNight())
	header, _, _ := strings.Cut(page, "</header>")
	assert.Contains(t, header, `<div class="verdict bad">`)
	assert.Contains(t, text(header), "3 findings 418 of 12,000 runs broke a promise, or took the process down (6).")
	assert.Contains(t, text(header), "It was stopped before its budget was used up")
	assert.Contains(t, text(header), "Not examined yet: 3 runs that broke a promise.")
	assert.NotContains(t, text(page), "rule of three")

	section := sectionOf(t, page, "findings")
	first, rest, _ := strings.Cut(section, `<li id="finding-2">`)
	second, third, _ := strings.Cut(rest, `<li id="finding-3">`)
	said := text(first)
	for _, want := range []string{
		"one-dispatch-per-job The publish of job-1 is stored although", "cause fail-after on publish, engine.dispatch_order=publish-first",
		"smallest plan 1 job, 1 fault, 1 scheduler and 1 worker", "shown by 409 of 12,000 runs, run 17 first", "broken at step 31",
		"Replay wavetank run findings/one-dispatch-per-job-8c1f03d2.yaml", "do: fail-after",
	} {
		assert.Contains(t, said, want)
	}
	assert.Contains(t, first, `<a href="findings/one-dispatch-per-job-8c1f03d2.html">`)
	assert.Contains(t, first, `<a href="findings/one-dispatch-per-job-8c1f03d2.yaml">`)

	assert.Contains(t, text(second), "no-panic out of bounds")
	assert.Contains(t, second, "<details><summary>Where it was</summary>")
	assert.Contains(t, text(second), "goroutine 71 [running]")
	assert.NotContains(t, second, ".html", "a run that did not end has no page")
	assert.Contains(t, text(third), "documented-transitions-only not deterministic")
}

// Findings with one cause are one card, with a count; the others are folded below the one with the smallest plan.
func TestFindingsOfOneCauseAreOneCard(t *testing.T) {
	res := badNight()
	first := &res.Findings[0]
	first.Why, first.Blamed = "The violation needs fail-after on publish of job 1. Without the fault, one-dispatch-per-job holds.", []string{"fail-after publish"}
	for i := range 18 {
		more := *first
		more.Faults, more.Runs, more.Cause, more.File = 2, 1, "fail-after publish and crash of a worker", fmt.Sprintf("findings/one-dispatch-per-job-%08x.yaml", i)
		res.Findings = append(res.Findings, more)
	}
	page := campaignHTML(t, res)
	section := sectionOf(t, page, "findings")
	assert.Contains(t, text(page), "21 findings, 3 causes")
	card, _, _ := strings.Cut(section, `<code>no-panic</code>`)
	head, folded, ok := strings.Cut(card, `<details class="same">`)
	require.True(t, ok)
	assert.Contains(t, text(head), "one-dispatch-per-job 18 more findings of this cause The violation needs fail-after on publish of job 1.")
	assert.Contains(t, text(head), "cause fail-after on publish, engine.dispatch_order=publish-first smallest plan 1 job, 1 fault")
	assert.Contains(t, text(folded), "18 more findings of this cause; 427 runs with the one above")
	assert.Equal(t, 18, strings.Count(folded, "<h4>fail-after publish and crash of a worker</h4>"))

	stored := &Stored{Dir: "runs/fuzz-1", Campaign: res}
	assert.Contains(t, stored.Entry("runs", "./bin/wavetank").Reason, "publish-first (18 more findings of this cause); no-panic: crash of a worker; ")
	var b strings.Builder
	require.NoError(t, JUnit(&b, res))
	assert.Equal(t, 19, strings.Count(b.String(), "&#xA;Why: The violation needs fail-after on publish of job 1.")+strings.Count(b.String(), "\nWhy: The violation needs fail-after on publish of job 1."), "a testcase for each")
}

func TestCoverageNamesWhatWasNeverMet(t *testing.T) {
	page := campaignHTML(t, badNight())
	said := text(sectionOf(t, page, "invariants"))
	assert.Contains(t, said, "Never exercised: attempts-never-past-ceiling")
	assert.Contains(t, said, "always 11,023 409 214", "exercised, broken, outside")
	assert.Less(t, strings.Index(said, "The stream stores at most one dispatch"), strings.Index(said, "The changes that the steps made"), "what broke comes first")
	said = text(sectionOf(t, page, "situations"))
	assert.Contains(t, said, "Never reached: result-for-ended-job , deliveries-exhausted")
	said = text(sectionOf(t, page, "faults"))
	assert.Contains(t, said, "Never drawn: 38 of 54 fail-before publish ,")
	assert.Contains(t, said, "Drawn, but never fired: fail-before lock_acquire , fail-after lock_acquire")
	assert.Contains(t, said, "fail-before state_read 1,900 1,300")
	said = text(sectionOf(t, page, "settings"))
	assert.Contains(t, said, "Always as the preset has them: engine.read_error , engine.ack_wait ,")
	said = text(sectionOf(t, page, "runs"))
	assert.Contains(t, said, "violated 412 out of bounds 6 inconclusive 1,609 held 9,973")
	assert.Contains(t, said, "rollback_write 1,204 job-N had not settled when its time was up 398")
}

// The bound says which runs it leaves out, as a promise did not judge them.
func TestTheBoundSaysWhatWasNotJudged(t *testing.T) {
	res := quietNight()
	res.Unjudged = 18
	assert.Contains(t, text(campaignHTML(t, res)), "(rule of three). That leaves out 18 runs in which an invariant was not judged, once one that it needs was violated.")
	res.Spec.Drawn, res.Spec.Struck = nil, &campaign.Struck{}
	assert.Equal(t, "No promise was broken in 12,000 runs; 1,609 could not be judged; in 18 an invariant was not judged, once one that it needs was violated.", BoundInWords(res))
}

func TestCampaignsThatSayLittle(t *testing.T) {
	empty := &campaign.Result{Spec: campaign.Spec{Name: "fuzz", Budget: time.Minute}}
	said := text(campaignHTML(t, empty))
	assert.Contains(t, said, "nothing was run The campaign ended before its first run was over.")
	assert.Contains(t, said, "budget 1 min")

	few := quietNight()
	few.Runs, few.Conclusive, few.Bound, few.Verdicts = 2, 0, 0, map[scenarios.Verdict]int{scenarios.Inconclusive: 2}
	said = text(campaignHTML(t, few))
	assert.Contains(t, said, "No promise was broken in 0 conclusive runs, which is too few to bound how often one may be.")
	assert.Contains(t, said, "100 % of the runs were inconclusive")

	unexamined := quietNight()
	unexamined.Bound, unexamined.Unexamined, unexamined.Verdicts = 0, 1, map[scenarios.Verdict]int{scenarios.Violated: 1}
	assert.Contains(t, campaignHTML(t, unexamined), `<div class="verdict bad">`, "a broken promise counts, examined or not")
}

func TestSourceOfPlansIsSaid(t *testing.T) {
	for _, c := range []struct {
		spec campaign.Spec
		want string
	}{
		{campaign.Spec{Drawn: &campaign.Drawn{Presets: []string{"hardened"}}}, "drawn from nothing, preset hardened"},
		{campaign.Spec{Drawn: &campaign.Drawn{Plans: []string{"version: 1\nname: calm\n", foundPlan}}}, "perturbations of calm and found"},
		{campaign.Spec{Grid: &campaign.Grid{Plans: []string{foundPlan}, Points: make([][]string, 150), Seeds: 20}}, "1 plan at 150 points under 20 seeds"},
	} {
		source, _ := sourceOf(&c.spec)
		assert.Equal(t, c.want, source)
	}
}

func TestWriteCampaignLinksThePagesThatAreThere(t *testing.T) {
	dir, res := t.TempDir(), badNight()
	page := FindingPage(&res.Findings[0])
	assert.Equal(t, "findings/one-dispatch-per-job-8c1f03d2.html", page)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "findings"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, page), nil, 0o600))
	require.NoError(t, WriteCampaign(dir, "./bin/wavetank", res))
	assert.Equal(t, []string{"findings", PageFile}, names(t, dir))
	html, err := os.ReadFile(filepath.Join(dir, PageFile))
	require.NoError(t, err)
	assert.Contains(t, string(html), `href="`+page+`"`)
	assert.Contains(t, string(html), "./bin/wavetank run "+dir+"/"+res.Findings[0].File)
	assert.NotContains(t, string(html), `href="`+FindingPage(&res.Findings[2])+`"`)
	require.ErrorContains(t, WriteCampaign(filepath.Join(dir, "absent"), "./bin/wavetank", res), PageFile)
}

func TestBeginningKeepsWholeLines(t *testing.T) {
	got, left := beginning("one\ntwo\nthree\n", 9)
	assert.Equal(t, "one\ntwo\n", got)
	assert.Equal(t, 6, left)
	got, left = beginning("é", 1)
	assert.Equal(t, "", got)
	assert.Equal(t, 2, left)
	got, left = beginning("short", 9)
	assert.Equal(t, "short", got)
	assert.Zero(t, left)
}

// Of a list, too, what could not be judged is not green; and why it could not be is said where the reasons are not.
func TestAListThatCouldNotBeJudgedIsNotGreen(t *testing.T) {
	res := quietNight()
	res.Spec.Drawn, res.Spec.Given, res.Bound = nil, []string{"a"}, 0
	res.Runs, res.Conclusive, res.Verdicts = 3, 1, map[scenarios.Verdict]int{scenarios.Held: 1, scenarios.Inconclusive: 2}
	outcome, says := campaignVerdict(res)
	assert.Equal(t, badge{"nothing found", "warn"}, outcome)
	assert.Equal(t, "No promise was broken in 3 runs; 2 could not be judged.", says)
	assert.Equal(t, []string{"66.7 % of the runs were inconclusive (most often: a fault did not fire as it should: fail-before on job N's rollback_write)."}, campaignWarnings(res))
	res.Verdicts = map[scenarios.Verdict]int{scenarios.Held: 3}
	outcome, says = campaignVerdict(res)
	assert.Equal(t, badge{"nothing found", "good"}, outcome)
	assert.Equal(t, "No promise was broken in 3 runs.", says)
}

// What was never met is counted among what could have been, however many rows a table shows.
func TestWhatWasNeverMetIsCountedAmongWhatCouldBe(t *testing.T) {
	res := quietNight()
	for range coverageMax {
		res.Invariants = append(res.Invariants, campaign.Coverage{Name: "more", Kind: "always", Exercised: 1})
	}
	c := coverageOf(res)
	assert.Equal(t, []int{coverageMax + 8, 4, 54, 16}, []int{c.NeverJudged.Of, c.NeverReached.Of, c.NeverDrawn.Of, c.NeverFired.Of})
}
