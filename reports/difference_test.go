package reports

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/diff"
)

// twoRuns differ in all that a difference can say.
func twoRuns() *diff.Difference {
	return &diff.Difference{
		A: diff.Side{Dir: "no/a", Scenario: "one", Preset: "documented", Seed: 1, Build: "v1.0.0", Verdict: scenarios.Violated, Reason: "x is violated", Steps: 1234,
			Virtual: 5 * time.Second, Alone: []scenarios.Violation{{Invariant: "x", Promised: true, Job: "job-3", Step: 8, At: time.Second, Message: "job-3: <b>"}}},
		B:     diff.Side{Dir: "no/b", Scenario: "two", Preset: "hardened", Seed: 1, Build: "v1.1.0", Verdict: scenarios.Held, Reason: "all held", Virtual: 2 * time.Second},
		Plans: []diff.Value{{Key: "preset", A: "documented", B: "hardened"}, {Key: "fault", B: "crash"}, {Key: "engine.epochs", A: "false", B: "true", Follows: true}},
		Parting: &diff.Parting{
			Step: 5, Common: []diff.Point{{Step: 4, At: 1400 * time.Microsecond, Says: "n-1: start: ok"}},
			A: &diff.Point{Step: 5, At: 2 * time.Millisecond, Says: "n-1: redis get k: ok"}, Differ: []diff.Value{{Key: "changes", A: strings.Repeat("long ", 300)}},
		},
		Before: []diff.Told{{Says: "At 1ms a client submitted job-1.", A: &diff.Moment{Step: 3, At: time.Millisecond}, B: &diff.Moment{Step: 3, At: time.Millisecond}}},
		Story: []diff.Told{
			{Says: "At 1s a client submitted job-3.", A: &diff.Moment{Step: 6, At: time.Second}, B: &diff.Moment{Step: 7, At: time.Second}},
			{Says: "At 2s x was violated.", A: &diff.Moment{Step: 8, At: 2 * time.Second, Violates: "x"}},
			{Says: "Others succeeded.", B: &diff.Moment{}},
		},
	}
}

func differenceHTML(t *testing.T, d *diff.Difference, dir string) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, DifferencePage(&b, d, dir))
	return b.String()
}

func TestDifferencePageSaysWhatDiffers(t *testing.T) {
	page := differenceHTML(t, twoRuns(), t.TempDir())
	header, _, _ := strings.Cut(page, "</header>")
	for _, want := range []string{"one and two", "not equal The traces part at step 5, 2ms. The verdicts: A violated, B held.", "1,234", "v1.1.0"} {
		assert.Contains(t, text(header), want)
	}
	said := text(sectionOf(t, page, "plans"))
	for _, want := range []string{"preset documented hardened", "fault none crash", "1 setting that follows from the presets", "A is of build v1.0.0, B of build v1.1.0."} {
		assert.Contains(t, said, want)
	}
	assert.Contains(t, sectionOf(t, page, "violations"), "job-3: &lt;b&gt;")
	assert.Contains(t, text(sectionOf(t, page, "violations")), "B has none.")
	said = text(sectionOf(t, page, "parting"))
	for _, want := range []string{"The traces are equal up to step 4.", "1ms #4 both n-1: start: ok", "A n-1: redis get k: ok , at 2ms", "B the run is over", "long …"} {
		assert.Contains(t, said, want)
	}
	story := sectionOf(t, page, "story")
	for _, want := range []string{"1 1s both a client submitted job-3. #6 #7", "2 2s A x was violated. #8", "B Others succeeded."} {
		assert.Contains(t, text(story), want)
	}
	assert.Equal(t, 1, strings.Count(story, `<tr class="violation">`))
	assert.NotContains(t, page, "href=\"./", "there are no reports to link to")
	assert.Equal(t, page, differenceHTML(t, twoRuns(), t.TempDir()))
}

func TestDifferencePageOfEqualRuns(t *testing.T) {
	d := twoRuns()
	d.Equal, d.Parting, d.Story, d.Plans, d.A.Alone = true, nil, nil, nil, nil
	said := text(differenceHTML(t, d, t.TempDir()))
	for _, want := range []string{"equal The traces are equal.", "The plans are equal.", "A has none.", "They do not: the traces are equal, event by event.", "There is nothing to tell"} {
		assert.Contains(t, said, want)
	}
	assert.NotContains(t, said, "not equal")
}

// Both are on one axis: up to the parting on one lane, from there on each on its own.
func TestTwoRunsOverOneAxis(t *testing.T) {
	d := twoRuns()
	d.A.Violations = []scenarios.Violation{{Invariant: "x", Step: 8, At: 2 * time.Second, Message: "job-3: <b>"}}
	d.A.Fired = []scenarios.FiredFault{{Fault: "cut off", Step: 6, At: time.Second, Until: 2 * time.Second}}
	a := func(step int) string {
		if step == 8 {
			return "a.html#step-8"
		}
		return ""
	}
	for _, drawn := range drawingsOf(d, d.Story, [2]func(int) string{a, func(int) string { return "" }}) {
		at := map[string]dot{}
		for _, dot := range drawn.Dots {
			at[fmt.Sprint(dot.Y)+" "+dot.Title] = dot
			assert.True(t, dot.X > 0 && dot.X < drawn.Width && dot.Y > 0 && dot.Y < drawn.Height)
		}
		assert.Len(t, at, 5)
		common := at["122 1ms, step 3: a client submitted job-1."]
		parted := at["78 2ms, step 5: Here they part. n-1: redis get k: ok"]
		inA := at["78 1s, step 6: a client submitted job-3.\nFault: cut off"]
		inB := at["166 1s, step 7: a client submitted job-3."]
		broken := at["78 2s, step 8: x: job-3: <b>"]
		assert.Equal(t, []string{"told both", "parted A", "struck both", "told both", "violation A"}, []string{common.Class, parted.Class, inA.Class, inB.Class, broken.Class})
		assert.Equal(t, []string{"#parting", "a.html#step-8", ""}, []string{parted.Href, broken.Href, inB.Href})
		assert.True(t, common.X < parted.X && parted.X < inA.X && inA.X < broken.X)
		assert.InDelta(t, inA.X, inB.X, 0, "an instant is at one place in both")
		alike, lasts := drawn.Bands[0], drawn.Bands[1]
		assert.InDelta(t, parted.X, alike.X+alike.Width, .1)
		assert.InDelta(t, inA.X, lasts.X, 0)
		assert.InDelta(t, broken.X, lasts.X+lasts.Width, .1)
		var numbers []string
		for _, l := range drawn.Labels {
			if l.Class == "number" {
				numbers = append(numbers, l.Text)
			}
		}
		assert.Equal(t, []string{"1", "1", "2"}, numbers, "the third tells of no instant")
	}
	assert.Contains(t, sectionOf(t, differenceHTML(t, d, "no"), "axis"), "<title>2s, step 8: x: job-3: &lt;b&gt;</title>")
}

func TestEqualRunsAreOneLane(t *testing.T) {
	d := twoRuns()
	d.Parting, d.Before, d.Story = nil, append(d.Before, d.Story...), nil
	for _, drawn := range drawingsOf(d, nil, [2]func(int) string{func(int) string { return "" }, func(int) string { return "" }}) {
		for _, dot := range drawn.Dots {
			assert.InDelta(t, middleLane, dot.Y, 0)
		}
		for _, l := range drawn.Labels {
			assert.NotContains(t, []string{"A", "B"}, l.Text)
		}
	}
}

func TestDifferencePageLinksToTheReportsBesideIt(t *testing.T) {
	root := t.TempDir()
	d := twoRuns()
	d.A.Dir, d.B.Dir = filepath.Join(root, "runs", "a"), filepath.Join(root, "runs", "latest")
	for _, dir := range []string{"a", "b"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, "runs", dir), 0o755))
		put(t, filepath.Join(root, "runs", dir), PageFile, `<tr id="step-7" class="told">`)
	}
	require.NoError(t, os.Symlink("b", d.B.Dir))
	page := differenceHTML(t, d, filepath.Join(root, "runs"))
	assert.Contains(t, page, `href="./a/report.html"`)
	assert.NotContains(t, page, `href="./a/report.html#step-6"`, "that page does not show the step")
	assert.Contains(t, page, `href="./b/report.html#step-7"`, "runs/latest will be another folder one day")
	assert.NotContains(t, page, root)
}

func TestReadRunTakesRunsOnly(t *testing.T) {
	dir := aRun(t)
	s, err := ReadRun(dir)
	require.NoError(t, err)
	assert.Equal(t, "publish-failure", s.Plan.Name)

	other := aRun(t)
	put(t, other, TraceFile, strings.Replace(read(t, other, TraceFile), "scheduler-1", "scheduler-2", 1))
	_, err = ReadRun(other)
	require.ErrorContains(t, err, "trace.jsonl: it is not the trace of this run")
	require.NoError(t, os.Remove(filepath.Join(other, TraceFile)))
	_, err = ReadRun(other)
	require.ErrorContains(t, err, "trace.jsonl: there is no such file; run it again: wavetank run publish-failure --seed 7")
	put(t, dir, ResultFile, strings.Replace(read(t, dir, ResultFile), `"scenario": "publish-failure"`, `"scenario": "other"`, 1))
	_, err = ReadRun(dir)
	require.ErrorContains(t, err, "result.json: it and the plan are not of one run")
	_, err = ReadRun(t.TempDir())
	require.ErrorContains(t, err, "this folder holds no run; give the folder of a run")
	sweeps := t.TempDir()
	put(t, sweeps, SweepFile, "{}")
	_, err = ReadRun(sweeps)
	require.ErrorContains(t, err, "sweep.json: this folder is that of a sweep, and of no run; ")
}
