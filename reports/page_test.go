package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/reports/axis"
	"github.com/wavetank-sim/wavetank/reports/words"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

var (
	insides   = regexp.MustCompile(`(?s)(<style>).*?(</style>)|(<script>).*?(</script>)`)
	tag       = regexp.MustCompile(`<(/?)([a-z][a-z0-9]*)([^>]*)>`)
	ids       = regexp.MustCompile(` id="([^"]*)"`)
	fragments = regexp.MustCompile(` href="#([^"]*)"`)
	tags      = regexp.MustCompile(`<[^>]*>`)
)

// structure returns the page's tags in order and fails unless they nest.
func structure(t require.TestingT, page string) (sequence []string) {
	page = insides.ReplaceAllString(page, "$1$2$3$4")
	var open []string
	for _, m := range tag.FindAllStringSubmatch(page, -1) {
		closing, name, rest := m[1] == "/", m[2], m[3]
		if name == "wbr" { // where a line may end, which depends on the text
			continue
		}
		sequence = append(sequence, m[1]+name)
		switch {
		case closing:
			require.NotEmpty(t, open, "</%s> closes nothing", name)
			require.Equal(t, open[len(open)-1], name, "nesting")
			open = open[:len(open)-1]
		case name != "meta" && name != "input" && !strings.HasSuffix(rest, "/"):
			open = append(open, name)
		}
	}
	require.Empty(t, open, "elements that are never closed")
	return sequence
}

// text is what a reader sees, on one line.
func text(page string) string {
	page = strings.ReplaceAll(page, "<wbr>", "") // no more than where a line may end
	page = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>`).ReplaceAllString(page, "")
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(page, " "))), " ")
}

func sectionOf(t *testing.T, page, id string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, `<section aria-labelledby="`+id+`">`)
	require.True(t, ok, "section %s", id)
	section, _, ok := strings.Cut(rest, "</section>")
	require.True(t, ok)
	return section
}

func TestPageIsOneWholeDocument(t *testing.T) {
	for name, tp := range map[string]*tape{
		"held": publishFailure(), "violated": ackLost(true), "outside its promise": ackLost(false), "inconclusive": staleWorker(),
		"nothing at all": newTape("calm", "", 0).finish(),
	} {
		t.Run(name, func(t *testing.T) {
			page := tp.page()
			structure(t, page)

			found := map[string]bool{}
			for _, m := range ids.FindAllStringSubmatch(page, -1) {
				assert.False(t, found[m[1]], "id %s twice", m[1])
				found[m[1]] = true
			}
			for _, m := range fragments.FindAllStringSubmatch(page, -1) {
				assert.True(t, found[m[1]], "link to #%s leads nowhere", m[1])
			}
			for _, id := range []string{"story", "violations", "invariants", "faults", "jobs", "lanes", "plots"} {
				assert.NotEmpty(t, text(sectionOf(t, page, id)))
			}
			assert.NotRegexp(t, `(src|href)="[^#]`, page, "nothing is loaded")
			assert.NotRegexp(t, `https?:|url\([^#]|@import`, page, "nothing is loaded")
			assert.Contains(t, page, `<html lang="en">`)
			assert.NotContains(t, page, "ZgotmplZ", "html/template refused a value")
		})
	}
}

func TestHeaderTellsVerdictAndReplay(t *testing.T) {
	for _, c := range []struct {
		tape          *tape
		tone, verdict string
	}{
		{publishFailure(), "good", "held"}, {ackLost(false), "outside", "held"}, {ackLost(true), "bad", "violated"}, {staleWorker(), "warn", "inconclusive"},
	} {
		t.Run(c.verdict+" "+c.tone, func(t *testing.T) {
			page := c.tape.page()
			header, _, _ := strings.Cut(page, "</header>")
			assert.Contains(t, header, `<div class="verdict `+c.tone+`">`)
			assert.Contains(t, header, ">"+c.verdict+"</strong>")
			assert.Contains(t, header, "<p>"+c.tape.res.Reason+".</p>")
			assert.Regexp(t, `<pre[^>]*><code>`+regexp.QuoteMeta(c.tape.res.Replay)+`</code></pre>`, header)
			for _, want := range []string{c.tape.plan.Name, "documented", "9f31c2aa07d4e6b1", words.Count(c.tape.res.Steps), words.Duration(c.tape.res.Virtual)} {
				assert.Contains(t, text(header), want)
			}
			assert.Contains(t, text(header), "2 schedulers, 3 workers and")
		})
	}
}

func TestFirstViolationIsLinkedAndMarked(t *testing.T) {
	tp := ackLost(true)
	page := tp.page()
	step := tp.res.Violations[0].Step
	assert.Contains(t, page, fmt.Sprintf(`<a class="jump" href="#step-%d">Jump to the first violation</a>`, step))
	assert.Contains(t, page, fmt.Sprintf(`<tr id="step-%d" class="violation">`, step))
	violations := sectionOf(t, page, "violations")
	assert.Contains(t, violations, fmt.Sprintf(`href="#step-%d"`, step))
	assert.NotContains(t, violations, "outside its promise")
	assert.Contains(t, text(sectionOf(t, page, "lanes")), "one-dispatch-per-job : job-3 has two dispatches")
	assert.NotContains(t, publishFailure().page(), "Jump to")
}

func TestViolationOutsideItsPromiseSaysSo(t *testing.T) {
	page := ackLost(false).page()
	assert.Contains(t, text(sectionOf(t, page, "violations")), "one-dispatch-per-job outside its promise")
	assert.Contains(t, text(sectionOf(t, page, "invariants")), "broken outside its promise")
	assert.Contains(t, text(page), "held every invariant held within its promise; one-dispatch-per-job broke outside it")
}

func TestInvariantsStandApartFromSituations(t *testing.T) {
	section := sectionOf(t, ackLost(true).page(), "invariants")
	invariants, situations, ok := strings.Cut(section, "Situations that a run may reach")
	require.True(t, ok)
	assert.Contains(t, text(invariants), "one-dispatch-per-job A job has at most one dispatch in the streams. Promised: any fault that leaves no publish ambiguous. violated 10")
	assert.Less(t, strings.Index(invariants, "one-dispatch-per-job"), strings.Index(invariants, "every-job-settles"), "what went wrong comes first")
	idle := strings.Index(invariants, "1 invariant not exercised")
	assert.Less(t, strings.Index(invariants, "every-job-settles"), idle, "what had nothing to judge comes last")
	assert.Contains(t, text(invariants[idle:]), "not exercised 0")
	reached, unreached, ok := strings.Cut(situations, "<details><summary>1 situation")
	require.True(t, ok)
	unreached = "1 situation" + unreached
	assert.Contains(t, text(reached), "A failed publish was rolled back. reached 2")
	assert.Contains(t, text(unreached), "1 situation not reached")
	assert.Contains(t, text(unreached), "not reached 0")
	assert.NotContains(t, invariants, "rollback-applied")

	tp := ackLost(true)
	tp.plan.Expect.Sometimes = []string{"ambiguous-publish-stored"}
	section = sectionOf(t, tp.page(), "invariants")
	assert.NotContains(t, section, "situation not reached", "what the plan expects stays in sight")
	assert.Contains(t, section, `<span class="badge warn">not reached</span>`)
}

func TestFaultsThatFiredAndThoseThatDidNot(t *testing.T) {
	section := text(sectionOf(t, staleWorker().page(), "faults"))
	assert.Contains(t, section, "at 5s crash worker-2 worker-2 step 25 5.009s to the end")
	assert.Contains(t, section, "at 5s partition scheduler-2 from heartbeats for 8s")
	assert.Contains(t, section, "Did not fire as they should fail-before on job 3's rollback_write")
	assert.Contains(t, text(sectionOf(t, publishFailure().page(), "faults")), "scheduler-2 job-3 publish , 1st step 36")
}

func TestJobsComeInOrderOfInterest(t *testing.T) {
	section := sectionOf(t, staleWorker().page(), "jobs")
	job2, job3, job1 := strings.Index(section, ">job-2<"), strings.Index(section, ">job-3<"), strings.Index(section, ">job-1<")
	assert.True(t, 0 < job2 && job2 < job3 && job3 < job1, "about-jobs first, then by number")
	said := text(section)
	assert.Contains(t, said, "open since 5.012s")
	assert.Contains(t, said, "Did not settle: its dispatch went to worker-2, which crashed")
	assert.Contains(t, said, "3 picks met a stale worker.")
	assert.Contains(t, said, "PENDING SCHEDULED 1 DISPATCHED 1 RUNNING 1")

	said = text(sectionOf(t, publishFailure().page(), "jobs"))
	assert.Contains(t, said, "job-3 SUCCEEDED 5 1 1 1.411s 22.262s 24.267s")
	said = text(sectionOf(t, ackLost(true).page(), "jobs"))
	assert.Contains(t, said, "job-3 SUCCEEDED 3 2 2", "two dispatches, two executions")
	assert.Contains(t, said, "4.3 s", "the blind window")
}

// turning turns the direction of the text after it, and long is 10 KB of a word.
var (
	turning = "evil \u202edlrow\u2066"
	long    = strings.Repeat("W", 10_000)
	turns   = regexp.MustCompile(`[\x{61C}\x{200E}\x{200F}\x{202A}-\x{202E}\x{2066}-\x{2069}]`)
)

// poison has s wherever a run has words of others.
func poison(s string) *tape {
	tp := ackLost(true)
	tp.plan.Name, tp.plan.Story = s, s
	r := tp.res
	r.Scenario, r.Story, r.Reason, r.Replay, r.Build, r.Digest, r.Preset = s, s, s, s, s, s, s
	r.Overrides, r.Telling, r.Unfired = []string{s}, []string{s}, []string{s}
	r.Violations[0].Message, r.Violations[0].Invariant = s, s
	r.Invariants[0].Name, r.Invariants[0].Says, r.Invariants[0].Promise = s, s, s
	r.Fired[0].Fault, r.Fired[0].Node, r.Fired[0].Phase = s, s, s
	r.Cause = &why.Cause{
		Invariant: s, Job: s, Message: s, Also: []string{s}, Hardened: why.Holds, Beside: why.Outcome{Breaks: []string{s}, Jobs: []string{s}},
		Tried:   []why.Tried{{What: why.Strike, Says: s, Did: s, Means: s, Needed: true}, {What: why.Setting, Says: s, Instead: s, Needed: true, Outcome: why.Outcome{Still: []string{s}}}},
		Nearest: &why.Nearest{Tried: why.Tried{What: why.Strike, Says: s}, Parting: why.Parting{Job: s, Own: &why.Point{Step: 36, Says: s}, Other: &why.Point{Step: 36, Says: s}}},
		Path:    []why.Point{{Step: 36, Says: s}, {Says: s}},
	}
	r.Unsettled = []scenarios.Unsettled{{Job: "job-3", State: s, Reason: s}}
	r.Counters = map[string]float64{s: 1}
	for i := range r.Jobs {
		r.Jobs[i].Reason, r.Jobs[i].Path[0].State, r.Jobs[i].Path[0].Phase = s, s, s
	}
	for i := range tp.events {
		e := &tp.events[i]
		if e.Job == "job-3" {
			e.Outcome, e.Fault, e.Target, e.Phase, e.Node = s, s, s, s, s
		}
	}
	return tp
}

func TestHostileStringsStayText(t *testing.T) {
	plain := structure(t, poison("x").page())
	for _, s := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</style></title></script><b>`, `' onmouseover='x`,
		`{{.Seed}}`, `javascript:alert(1)`, "\x00\x1b[31m\xff", `]]>--><!--`, turning, "שלום 12", long,
	} {
		page := poison(s).page()
		assert.Equal(t, plain, structure(t, page), "%.50q changed the page's structure", s)
		assert.NotRegexp(t, turns, page)
		assert.Less(t, len(page), 2_000_000, "bytes of the page")
		var onAxis any
		require.NoError(t, json.Unmarshal([]byte(axisData.FindStringSubmatch(page)[1]), &onAxis))
		assert.NotRegexp(t, turns, fmt.Sprint(onAxis), "what the script reads")
		assert.NotRegexp(t, turns, written(t, func(w io.Writer) error { return JUnitRun(w, poison(s).res) }))
	}
	assert.Contains(t, text(sectionOf(t, poison(turning).page(), "story")), `evil \u202edlrow\u2066`)
	rapid.Check(t, func(t *rapid.T) {
		s := "x" + rapid.String().Draw(t, "s")
		require.Equal(t, plain, structure(t, poison(s).page()))
	})
}

func TestPageDependsOnNothingElse(t *testing.T) {
	first := publishFailure().page()
	for range 5 {
		require.Equal(t, first, publishFailure().page())
	}
	assert.NotRegexp(t, `20[2-9][0-9]-[01][0-9]`, first, "no date")
}

func TestPageSaysWhatFailed(t *testing.T) {
	tp := publishFailure()
	broken := func(yield func(sim.Event, error) bool) { yield(sim.Event{}, errors.New("line 3: unexpected end")) }
	var out bytes.Buffer
	require.EqualError(t, Page(&out, tp.plan, tp.res, broken), "read the trace: line 3: unexpected end")
	assert.Zero(t, out.Len())
	require.Error(t, Page(&out, nil, tp.res, tp.all()))
	require.Error(t, Page(failingWriter{}, tp.plan, tp.res, tp.all()))
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// crowd is a run of many jobs, each of which is retried, and of a fault for each of the first faultsOf.
func crowd(jobs, faultsOf int) *tape {
	t := newTape("crowd", "Every job of many is dispatched, one in seven after a failure.", jobs)
	for n := 1; n <= jobs; n++ {
		job := fmt.Sprintf("job-%d", n)
		t.submit(job)
		if n <= faultsOf {
			t.try("scheduler-1", job, 1, faults.FailBefore)
		}
		t.try("scheduler-2", job, 2, "")
		t.work(fmt.Sprintf("worker-%d", n%40), "scheduler-1", job)
		t.now -= t.plan.Workload.Work - time.Millisecond
	}
	return t.finish(1, 2, 3)
}

func TestCapsOfATenThousandJobRun(t *testing.T) {
	tp := crowd(10_000, 1_500)
	for i, j := range tp.res.Jobs[:3000] {
		tp.res.Violations = append(tp.res.Violations, scenarios.Violation{
			Invariant: "one-dispatch-per-job", Promised: i%2 == 0, Job: j.ID, Step: j.Path[0].Step, At: j.Path[0].At, Message: strings.Repeat("long ", 1000),
		})
	}
	tp.res.Verdict = scenarios.Violated
	tp.res.Unfired = slices.Repeat([]string{"never"}, 5000)
	tp.res.Telling = slices.Repeat([]string{"a sentence"}, 5000)
	require.Greater(t, len(tp.events), 200_000)
	page := tp.page()
	structure(t, page)
	assert.Less(t, len(page), 2_000_000, "bytes of the page")
	assert.LessOrEqual(t, strings.Count(page, `<tr id="step-`), rowsMax)
	said := text(page)
	for _, want := range []string{
		"100 of 10,000 jobs shown", "1,449 more violations left out", "1,400 later faults left out", "4,900 more left out",
		"4,800 more sentences left out", "Of 9,994 other jobs, the 200 with the most attempts are drawn.", "400 of ",
		"(the last to end).",
	} {
		assert.True(t, strings.Contains(said, want), want)
	}
	assert.True(t, strings.Contains(page, fmt.Sprintf(`href="#step-%d">Jump`, tp.res.Violations[0].Step)), "a row for the first violation")
}

func TestPaletteHasContrast(t *testing.T) {
	light := variables(pageCSS[:strings.Index(pageCSS, "@media")])
	dark := variables(pageCSS[strings.Index(pageCSS, "@media"):])
	for name, palette := range map[string]map[string]string{"light": light, "dark": dark} {
		for _, back := range []string{"page", "card", "sunk"} {
			for _, front := range []string{"ink", "ink-2", "link", "bad", "warn"} {
				assert.GreaterOrEqual(t, contrast(t, palette[front], palette[back]), 4.5, "%s: %s on %s", name, front, back)
			}
		}
		for _, tone := range []string{"good", "bad", "warn"} {
			assert.GreaterOrEqual(t, contrast(t, palette[tone], palette[tone+"-bg"]), 4.5, "%s: badge %s", name, tone)
		}
		assert.GreaterOrEqual(t, contrast(t, palette["ink-2"], palette["quiet-bg"]), 4.5, "%s: badge quiet", name)
		assert.GreaterOrEqual(t, contrast(t, palette["card"], palette["warn"]), 4.5, "%s: badge fault", name)
		for i := range focusMax {
			assert.GreaterOrEqual(t, contrast(t, palette[fmt.Sprintf("job-%d", i)], palette["card"]), 4.5, "%s: job %d", name, i)
		}
		for _, line := range []string{"retry", "rollback", "fault"} { // WCAG asks 3 of graphics
			assert.GreaterOrEqual(t, contrast(t, palette[line], palette["card"]), 3.0, "%s: %s", name, line)
		}
	}
}

// What the picture has no room for is said in a sentence.
func TestThePageSaysWhichStepsAreLeftOut(t *testing.T) {
	for want, a := range map[string]axis.Axis{
		"": {},
		"566 steps that belong to no job are left out (every second one is kept).": {Left: 566, Every: 2},
		"1 step that belongs to no job is left out (every 4th one is kept).":       {Left: 1, Every: 4},
		"Not drawn: 7 steps: of other jobs, from 2m0.5s on.":                       {Left: 7, LeftFrom: 120_500_000},
		"Not drawn: 9 steps: of the jobs that the page follows, from step 8 on; of those that a fault struck, from step 9 on; of those that belong to no job, of which every second one is kept.": {Left: 9, Lost: 8, Struck: 9, Every: 2},
	} {
		assert.Equal(t, want, leftOut(&a))
	}
}

// A finding's story tells what the path of why shows; below the heading stands its plan then.
func TestAFindingsPageSaysItsPlanBelowTheHeading(t *testing.T) {
	tape := ackLost(true)
	tape.res.Story = strings.Repeat("At 1s job-1 was submitted. ", 30)
	assert.Contains(t, tape.page(), `<p class="lead">At 1s job-1 was submitted.`)
	tape.res.Cause = &why.Cause{Invariant: "one-dispatch-per-job"}
	assert.Regexp(t, `<p class="lead">A plan of 2 schedulers, 3 workers and 4 jobs \(one every 200 ms\).*\.</p>`, tape.page())
}
