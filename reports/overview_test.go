package reports

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/reports/plots"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/exhaust"
	"github.com/wavetank-sim/wavetank/scenarios/sweep"
	"github.com/wavetank-sim/wavetank/scenarios/why"
)

// written is what a report writes.
func written(t require.TestingT, write func(io.Writer) error) string {
	var out bytes.Buffer
	require.NoError(t, write(&out))
	return out.String()
}

// everyPage is a campaign's folder in which each finding has its page.
func everyPage(string) bool { return true }

func campaignHTML(t require.TestingT, res *campaign.Result) string {
	return written(t, func(w io.Writer) error { return campaignPage(w, res, everyPage) })
}

func sweepHTML(t require.TestingT, res *sweep.Result) string {
	return written(t, func(w io.Writer) error { return SweepPage(w, res) })
}

func comparisonHTML(t require.TestingT, list []*sweep.Comparison) string {
	return written(t, func(w io.Writer) error { return ComparisonPage(w, list) })
}

func indexHTML(t require.TestingT, entries []Entry) string {
	return written(t, func(w io.Writer) error { return Index(w, entries) })
}

var outward = regexp.MustCompile(`(?:src|href)="([^#"][^"]*)"`)

func TestOverviewsAreWholeDocuments(t *testing.T) {
	unfinished := staleSweep()
	unfinished.Complete, unfinished.Points = false, unfinished.Points[:70]
	for name, page := range map[string]string{
		"a campaign that found nothing": campaignHTML(t, quietNight()), "a campaign with findings": campaignHTML(t, badNight()),
		"a campaign that never began": campaignHTML(t, &campaign.Result{}),
		"a sweep":                     sweepHTML(t, staleSweep()), "a sweep of one axis": sweepHTML(t, flatSweep(3)), "a sweep of four axes": sweepHTML(t, flatSweep(3, 2, 4, 5)),
		"a sweep of one point": sweepHTML(t, flatSweep(1, 1)), "a sweep that was cut short": sweepHTML(t, unfinished), "a sweep of nothing": sweepHTML(t, &sweep.Result{}),
		"comparisons": comparisonHTML(t, threeTables()), "no comparison": comparisonHTML(t, nil),
		"an index": indexHTML(t, shelf()), "an empty index": indexHTML(t, nil),
	} {
		t.Run(name, func(t *testing.T) {
			structure(t, page)
			found := map[string]bool{}
			for _, m := range ids.FindAllStringSubmatch(page, -1) {
				assert.False(t, found[m[1]], "id %s twice", m[1])
				found[m[1]] = true
			}
			for _, m := range fragments.FindAllStringSubmatch(page, -1) {
				assert.True(t, found[m[1]], "link to #%s leads nowhere", m[1])
			}
			for _, m := range outward.FindAllStringSubmatch(page, -1) {
				assert.Regexp(t, `^(findings/|\./)[a-z]`, m[1], "a link leads to a file beside the page")
			}
			assert.NotRegexp(t, `https?:|url\([^#]|@import|<link`, page, "nothing is loaded")
			assert.Contains(t, page, `<html lang="en">`)
			assert.Contains(t, page, "default-src &#39;none&#39;")
			assert.NotContains(t, page, "ZgotmplZ", "html/template refused a value")
			assert.NotContains(t, text(page), "NaN")
		})
	}
}

func TestOverviewsDependOnNothingElse(t *testing.T) {
	for range 3 {
		require.Equal(t, campaignHTML(t, badNight()), campaignHTML(t, badNight()))
		require.Equal(t, sweepHTML(t, staleSweep()), sweepHTML(t, staleSweep()))
		require.Equal(t, comparisonHTML(t, threeTables()), comparisonHTML(t, threeTables()))
		require.Equal(t, indexHTML(t, shelf()), indexHTML(t, shelf()))
	}
	assert.NotRegexp(t, `20[2-9][0-9]-[01][0-9]`, campaignHTML(t, badNight()), "no date")
}

func TestOverviewsSayWhatFailed(t *testing.T) {
	require.Error(t, campaignPage(failingWriter{}, quietNight(), everyPage))
	require.Error(t, SweepPage(failingWriter{}, flatSweep(2)))
	require.Error(t, ComparisonPage(failingWriter{}, threeTables()))
	require.Error(t, Index(failingWriter{}, nil))
	require.Error(t, SweepCSV(failingWriter{}, flatSweep(2)))
	require.Error(t, ComparisonMarkdown(failingWriter{}, threeTables()))
	require.Error(t, JUnit(failingWriter{}, quietNight()))
	require.Error(t, Annotations(failingWriter{}, quietNight()))
	require.Error(t, Summary(failingWriter{}, quietNight()))
}

// poisoned has s wherever a campaign has words of others.
func poisoned(s string) *campaign.Result {
	res := badNight()
	res.Invariants, res.Faults, res.Settings = res.Invariants[:4], res.Faults[:3], res.Settings[:3]
	res.Build, res.Digest, res.Spec.Name = s, s, s
	res.Spec.Drawn.Presets, res.Spec.Drawn.Sets, res.Spec.Drawn.Judged = []string{s}, []string{s}, []string{s}
	res.Reasons = map[string]int{s: 1}
	f := &res.Findings[0]
	f.Story, f.Cause, f.Plan, f.Replay, f.Digest, f.Detail = s, s, s, s, s, s
	res.Invariants[0].Name, res.Faults[0].Name, res.Settings[0].Name = s, s, s
	return res
}

// poisonedSweep has s wherever a sweep has words of others.
func poisonedSweep(s string) *sweep.Result {
	res := flatSweep(2, 2, 2)
	res.Build, res.Name, res.Question, res.Plan = s, s, s, s
	res.Answer = sweep.Answer{Sentence: s, Also: []string{s}, Reading: s, Evidence: []string{s}, Take: []string{s}}
	res.Notes = []string{s}
	for i := range res.Axes {
		res.Axes[i].Setting, res.Axes[i].Title = s, s
		res.Axes[i].Values[1] = s
	}
	for i := range res.Points {
		for j, v := range res.Points[i].Values {
			if v == "1" {
				res.Points[i].Values[j] = s
			}
		}
		res.Points[i].Outside = map[string]int{s: 1}
	}
	res.Points[0].Broken = map[string]int{s: 1}
	res.Metrics[0].Title, res.Metrics[0].Says = s, s
	return res
}

func poisonedTables(s string) []*sweep.Comparison {
	list := threeTables()[:1]
	c := list[0]
	c.Build, c.Title, c.Question, c.Source, c.Plans, c.Notes = s, s, s, s, []string{s}, []string{s}
	c.Rows[0].Name, c.Rows[0].Upside, c.Rows[0].Downside, c.Rows[0].Settings = s, s, s, []string{s}
	c.Rows[0].Broken = map[string]int{s: 1}
	c.Metrics[0].Title, c.Metrics[0].Says = s, s
	return list
}

var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</style></title></script><b>`, `' onmouseover='x`,
	`{{.Seed}}`, `javascript:alert(1)`, "\x00\x1b[31m\xff", `]]>--><!--`, "a\nb|c`d", "::error::x", "x,y:z%0A", turning, "שלום 12", long,
}

func TestOverviewsKeepHostileStringsText(t *testing.T) {
	pages := func(t require.TestingT, s string) map[string][]string {
		tags := map[string][]string{}
		for name, page := range poisonedPages(t, s) {
			assert.NotRegexp(t, turns, page, name)
			if name == "sweep" || name == "power" || name == "nights" {
				page = stable(page)
			}
			tags[name] = structure(t, page)
		}
		return tags
	}
	plain := pages(t, "x")
	for _, s := range hostile {
		for name, tags := range pages(t, s) {
			assert.Equal(t, plain[name], tags, "%.50q changed the structure of the %s", s, name)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := "x" + rapid.StringN(0, 20, -1).Draw(t, "s")
		require.Equal(t, plain["campaign"], structure(t, campaignHTML(t, poisoned(s))))
	})
}

// stable leaves the insides of plots out, where a text of other length is drawn on other lines.
func stable(page string) string {
	return regexp.MustCompile(`(?s)(<svg[^>]*>).*?(</svg>)`).ReplaceAllString(page, "$1$2")
}

func TestCapsOfABigCampaign(t *testing.T) {
	res := badNight()
	finding := res.Findings[1]
	finding.Detail, finding.Plan, finding.Story = strings.Repeat("a line of a stack\n", 100_000), strings.Repeat("# long\n", 100_000), strings.Repeat("long ", 10_000)
	res.Findings = nil
	for n := range 400 {
		finding.File = fmt.Sprintf("findings/no-panic-%08d.yaml", n)
		res.Findings = append(res.Findings, finding)
	}
	res.Reasons = map[string]int{}
	for n := range 3_000 {
		name := fmt.Sprintf("reason %04d", n)
		res.Reasons[name] = 1
		res.Faults = append(res.Faults, campaign.Coverage{Name: name, Drawn: n % 2})
	}
	page := campaignHTML(t, res)
	structure(t, page)
	assert.Less(t, len(page), 3_000_000, "bytes of the page")
	said := text(page)
	for _, want := range []string{"350 more findings left out", "more bytes left out", "2,980 rarer reasons left out", "more rows left out", "and 1,2"} {
		assert.Contains(t, said, want)
	}
	assert.Less(t, len(written(t, func(w io.Writer) error { return Summary(w, res) })), summaryBytesMax)
	assert.Less(t, len(written(t, func(w io.Writer) error { return JUnit(w, res) })), 3_000_000)
}

func shelf() (entries []Entry) {
	for _, s := range []*Stored{
		{Dir: "runs/publish-failure-1", Run: publishFailure().res}, {Dir: "runs/ack-lost", Run: ackLost(true).res}, {Dir: "runs/stale-worker-1", Run: staleWorker().res},
		{Dir: "runs/fuzz-20261121", Campaign: badNight()}, {Dir: "runs/fuzz-7", Campaign: quietNight()},
		{Dir: "runs/sweep-stale", Sweep: staleSweep()}, {Dir: "runs/compare", Comparisons: threeTables()},
	} {
		entries = append(entries, s.Entry("runs", "./bin/wavetank"))
	}
	return append(entries, Entry{Href: "./old/report.html", Problem: "runs/old/result.json: it is of version 0"})
}

// What is violated as its plan expects is no trouble, and stands apart.
func TestAnIndexTellsWhatIsExpected(t *testing.T) {
	expected := ackLost(true).res
	expected.Expected, expected.Virtual = true, 90*time.Second
	expected.Cause = &why.Cause{Invariant: "one-dispatch-per-job", Tried: []why.Tried{{What: why.Strike, Says: "fail-after on publish of job 3", Needed: true}}}
	of := func(res *scenarios.Result) Entry {
		s := &Stored{Dir: "runs/a", Run: res, When: time.Date(2026, 11, 26, 12, 0, 0, 0, time.Local)}
		return s.Entry("runs", "./bin/wavetank")
	}
	page := indexHTML(t, []Entry{of(publishFailure().res), of(expected)})
	said := text(page)
	assert.Contains(t, said, "2 reports 1 violated as its plan expects, 1 with nothing against it")
	assert.Contains(t, said, "violated, as expected")
	assert.Contains(t, said, "1 1 min 30 s 2026-11-26 12:00", "one run, and its virtual time")
	assert.Contains(t, said, "The violation needs a fault: fail-after on publish of job 3.")
	assert.Contains(t, page, `<div class="verdict good">`)

	said = text(indexHTML(t, []Entry{of(publishFailure().res), of(ackLost(false).res)}))
	assert.Contains(t, said, "2 reports 1 that held, with an invariant broken outside of its promise, 1 with nothing against it")
}

// A certificate of which some faults broke something outside of a promise is no greener than a run that did.
func TestAnIndexTellsOfACertificateWhatIsOutside(t *testing.T) {
	of := func(c *exhaust.Certificate) Entry {
		return (&Stored{Dir: "certificates/calm", Certificate: c}).Entry("certificates", "./bin/wavetank")
	}
	c := tried()
	e := of(c)
	assert.Equal(t, []string{"held", "outside", "None of 3 single faults broke a promise; 1 broke something outside of a promise."}, []string{e.Outcome, e.Tone, e.Reason})
	assert.Contains(t, text(indexHTML(t, []Entry{e})), "1 report 1 that held, with an invariant broken outside of its promise")
	assert.Contains(t, indexHTML(t, []Entry{e}), `<div class="verdict outside">`)
	assert.Contains(t, faultMap(t, c), `<div class="verdict outside">`)

	c.Counts, c.Baseline = nil, make([]exhaust.Break, 1)
	assert.Equal(t, "outside", of(c).Tone, "the plan by itself does")
	c.Baseline = nil
	assert.Equal(t, "good", of(c).Tone)
	c.Complete = false
	assert.Equal(t, "warn", of(c).Tone)
	c.Counts = map[exhaust.Outcome]int{exhaust.Broken: 1, exhaust.Outside: 1}
	assert.Equal(t, "bad", of(c).Tone)
}

// A row says of a sweep what its own page says, and of comparisons what they come to.
func TestAnIndexSaysWhatAnswersAre(t *testing.T) {
	entry := func(res *sweep.Result) Entry {
		s := &Stored{Dir: "runs/sweep", Sweep: res}
		return s.Entry("runs", "./bin/wavetank")
	}
	answered, none, cutShort := staleSweep(), flatSweep(2), staleSweep()
	cutShort.Complete = false
	for res, want := range map[*sweep.Result]badge{answered: {"answer", "good"}, none: {"no answer", "warn"}, cutShort: {"answer, cut short", "warn"}} {
		e := entry(res)
		assert.Equal(t, want, badge{e.Outcome, e.Tone})
		assert.Contains(t, text(sweepHTML(t, res)), want.Word+" "+e.Reason)
	}
	assert.Equal(t, "The numbers do not answer the question.", entry(none).Reason)
	assert.Equal(t, 4, entry(none).Runs, "two points under two seeds")
	said := text(indexHTML(t, []Entry{entry(none)}))
	assert.Contains(t, said, "1 report 1 that is not conclusive")

	tables := &Stored{Dir: "runs/compare", Comparisons: threeTables()[1:]}
	e := tables.Entry("runs", "./bin/wavetank")
	assert.Equal(t, badge{"compared", "good"}, badge{e.Outcome, e.Tone})
	assert.Equal(t, "State-read policy: Fail open breaks a promise: one-dispatch-per-job. "+
		"Fail closed (current) alone keeps its promises. Others have less of retries per job and p99 time to dispatch. "+
		"Stale worker: Every alternative keeps its promises here. Of those that keep their promises, Fixed 3 immediate retries (current) is the best, or as good as the best, in stale picks per job.", e.Reason)
	assert.Equal(t, 160, e.Runs)
	tables.Comparisons[0].Complete = false
	e = tables.Entry("runs", "./bin/wavetank")
	assert.Equal(t, badge{"cut short", "warn"}, badge{e.Outcome, e.Tone})
}

// What a column sorts by is a number wherever its text is none that can be compared.
func TestColumnsOfAnIndexSortByNumbers(t *testing.T) {
	page := indexHTML(t, []Entry{
		{Name: "a", Kind: "run", Tone: "good", Runs: 1, Virtual: 13800 * time.Millisecond, When: time.Unix(1_700_000_000, 0)},
		{Name: "b", Kind: "campaign", Tone: "good", Runs: 1234, Virtual: 123 * time.Second},
		{Name: "c", Kind: "comparison", Tone: "good"},
	})
	assert.Contains(t, page, `data-what="virtual time" data-sort="13800000000">13.8 s</td>`)
	assert.Contains(t, page, `data-what="virtual time" data-sort="123000000000">2 min 3 s</td>`)
	assert.Contains(t, page, `data-what="runs" data-sort="1234">1,234</td>`)
	assert.Contains(t, page, `data-what="when" data-sort="1700000000"`)
	assert.Equal(t, 2, strings.Count(page, `data-what="virtual time"`), "none where it is unknown")
}

func TestIndexPutsTroubleFirst(t *testing.T) {
	page := indexHTML(t, shelf())
	said := text(page)
	last := -1
	for _, want := range []string{
		"fuzz-20261121 campaign 3 findings", "publish-ack-lost run in ack-lost violated", "unreadable", "stale-worker run in stale-worker-1 inconclusive",
		"fuzz-7 campaign nothing found", "comparison in compare compared", "publish-failure run in publish-failure-1 held", "stale-worker-retries sweep in sweep-stale answer",
	} {
		at := strings.Index(said, want)
		require.Greater(t, at, last, want)
		last = at
	}
	assert.Contains(t, said, "8 reports 2 with findings or violations, 1 that could not be read, 1 that is not conclusive, 4 with nothing against them")
	assert.Contains(t, page, `<a href="./fuzz-20261121/report.html">fuzz-20261121</a>`)
	assert.Contains(t, said, "wavetank run runs/fuzz-20261121/findings/one-dispatch-per-job-8c1f03d2.yaml")
	assert.Contains(t, said, "wavetank run publish-failure --seed 7")
	assert.Contains(t, text(indexHTML(t, nil)), "0 reports Nothing is stored.")

	many := make([]Entry, 2_500)
	for i := range many {
		many[i] = Entry{Href: "./a/report.html", Name: "a", Kind: "run", Tone: "good", Outcome: string(scenarios.Held)}
	}
	page = text(indexHTML(t, many))
	assert.Contains(t, page, "2,500 reports 2,500 with nothing against them")
	assert.Contains(t, page, "500 more reports left out")
}

func TestLinksOfAnIndexAreRelative(t *testing.T) {
	for _, c := range [][3]string{
		{"runs", "runs/calm-1", "./calm-1/report.html"}, {".", "runs/calm-1", "./runs/calm-1/report.html"}, {"runs/x", "runs/calm-1", "./../calm-1/report.html"},
		{"runs/calm-1", "runs/calm-1", "./report.html"}, {"runs", "runs/a:b", "./a:b/report.html"},
		{"runs", "runs/100% #1?", "./100%25%20%231%3F/report.html"}, {"../pages", "../pages/calm-1", "./calm-1/report.html"},
	} {
		assert.Equal(t, c[2], LinkTo(c[0], c[1]))
	}
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	require.NoError(t, err)
	assert.Equal(t, "./../runs/calm-1/report.html", LinkTo(filepath.Join(here, "pages"), "runs/calm-1"), "an absolute path for the index, and a relative one for the run")
	assert.Equal(t, "./../runs/calm-1/report.html", LinkTo("pages", filepath.Join(here, "runs/calm-1")))
	assert.Equal(t, "./../"+filepath.Base(here)+"/runs/calm-1/report.html", LinkTo("../pages", "runs/calm-1"))
}

func TestHeatPaletteHasContrast(t *testing.T) {
	dark := strings.Index(overviewCSS, "@media (prefers-color-scheme: dark)")
	for name, palette := range map[string]map[string]string{"light": variables(overviewCSS[:dark]), "dark": variables(overviewCSS[dark:])} {
		last := 0.0
		for i := range plots.HeatColours {
			cell := palette[fmt.Sprintf("heat-%d", i)]
			assert.GreaterOrEqual(t, contrast(t, palette[fmt.Sprintf("heat-ink-%d", i)], cell), 4.5, "%s: a value in colour %d", name, i)
			l := luminance(t, cell)
			if i > 0 {
				step := (max(l, last) + .05) / (min(l, last) + .05)
				assert.Greater(t, step, 1.1, "%s: colours %d and %d differ in lightness", name, i-1, i)
				assert.Equal(t, name == "dark", l > last, "%s: more is always further from the page", name)
			}
			last = l
		}
	}
}

func TestAnIndexHasATrendOverDays(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 11, day, 12, 0, 0, 0, time.Local) }
	entries := []Entry{
		{Tone: "bad", When: at(2)}, {Tone: "good", When: at(2)}, {Tone: "good", When: at(2)}, {Tone: "expected", When: at(2)},
		{Tone: "good", When: at(1)}, {Tone: "good"}, {Problem: "it cannot be read", When: at(3)},
	}
	assert.Equal(t, []trendDay{
		{Day: "2026-11-01", Parts: []trendPart{{"good", 0, 25}}, Says: "1 with nothing against it"},
		{Day: "2026-11-02", Parts: []trendPart{{"bad", 0, 25}, {"expected", 25, 25}, {"good", 50, 50}}, Says: "1 with a finding or a violation, 1 violated as its plan expects, 2 with nothing against them"},
	}, first(trendOf(entries)))
	assert.Contains(t, indexHTML(t, entries), `<rect class="bad" x="0.0" y="0" width="25.0" height="4"/>`)
	assert.Empty(t, first(trendOf(entries[:4])), "one day is no trend")

	var long []Entry
	for day := range 40 {
		long = append(long, Entry{Tone: "good", When: at(1).AddDate(0, 0, day)})
	}
	days, left := trendOf(long)
	assert.Len(t, days, trendDays)
	assert.Equal(t, 10, left)
	assert.Contains(t, indexHTML(t, long), "10 earlier days left out.")
	assert.Equal(t, "2026-12-10", days[len(days)-1].Day)
}

func first[A, B any](a A, _ B) A { return a }
