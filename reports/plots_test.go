package reports

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/wavetank-sim/wavetank/scenarios"
)

func (t *tape) figures() []figure {
	c := newCollector(t.res, focusOn(t.res))
	for _, e := range t.events {
		c.add(e)
	}
	return figures(t.plan, t.res, c)
}

func TestPlotsAreTheSameBytesForTheSameRun(t *testing.T) {
	first := crowd(300, 40).figures()
	for range 3 {
		require.Equal(t, first, crowd(300, 40).figures())
	}
}

func TestPlotsAreInlineSVGInTheColoursOfThePage(t *testing.T) {
	for _, f := range staleWorker().figures()[:2] {
		require.Len(t, f.SVGs, len(sizes))
		for i, svg := range f.SVGs {
			s := string(svg)
			assert.True(t, strings.HasPrefix(s, `<svg class="`+sizes[i].Class+`" viewBox="0 0 `), "no prologue, no fixed size")
			assert.Contains(t, s, `role="img" aria-label="`+f.Title)
			assert.Contains(t, s, ">virtual time (s)</text>")
			assert.NotRegexp(t, `#[0-9A-Fa-f]{6}|font-family| id=|currentColor`, s)
			assert.Contains(t, s, "var(--job-0)")
			assert.Contains(t, s, "var(--band)", "faults are shaded")
			structure(t, s)
		}
	}
}

func TestPlotsSayWhyThereIsNothingToDraw(t *testing.T) {
	for _, f := range newTape("none", "", 0).finish().figures() {
		assert.NotEmpty(t, f.Empty)
		assert.Empty(t, f.SVGs)
	}
	retries := staleWorker().figures()[2]
	assert.Equal(t, "No message was handed back, and no dispatch was rolled back.", retries.Empty)
}

func TestLegendNamesJobsAndFaults(t *testing.T) {
	fs := publishFailure().figures()
	assert.Equal(t, []legendEntry{{"line", "job-0", "job-3"}, {"line", "faint", "other jobs"}, {"fault-line", "fault", "fault"}}, fs[0].Legend)
	assert.Equal(t, "2 retries (a message handed back)", fs[2].Legend[0].Text)
	assert.Equal(t, "2 rollbacks (DISPATCHED back to SCHEDULED)", fs[2].Legend[1].Text)

	tp := publishFailure()
	tp.res.Jobs[4].Dispatches = nil
	tp.plan.Engine.MaxSchedulingRetries = 6
	fs = tp.figures()
	assert.Contains(t, fs[0].Legend, legendEntry{"dash", "bad", "retry ceiling, 6"})
	assert.Contains(t, fs[1].Legend, legendEntry{"cross", "bad", "1 job never dispatched"})
}

func TestBlindWindowsAreShaded(t *testing.T) {
	for name, c := range map[string]struct {
		of   *tape
		mark string
		text string
	}{
		"over":  {ackLost(true), "blind window of job-3", "job-3 ends at 3, blind window 4.3s"},
		"open":  {staleWorker(), "blind window of job-2", "job-2 ends at 1, blind window open since 5.012s"},
		"never": {publishFailure(), "", ""},
	} {
		f := c.of.figures()[0]
		band := slices.IndexFunc(f.Legend, func(e legendEntry) bool { return e.Text == c.mark })
		require.Equal(t, c.mark == "", band < 0, name)
		for _, svg := range f.SVGs {
			if band < 0 {
				assert.NotContains(t, string(svg), "var(--band-", name)
				continue
			}
			assert.Contains(t, string(svg), "var(--"+f.Legend[band].Name+")", name)
			assert.Contains(t, string(svg), c.text, name)
		}
	}
}

func TestAttemptPointsAreTheChanges(t *testing.T) {
	p := &plots{end: 30}
	second := func(n int) time.Duration { return time.Duration(n) * time.Second }
	job := scenarios.JobResult{Settled: second(20), Path: []scenarios.JobPoint{
		{At: second(1), Attempts: 0}, {At: second(2), Attempts: 1}, {At: second(3), Attempts: 1}, {At: second(4), Attempts: 2},
	}}
	assert.Equal(t, plotter.XYs{{X: 1, Y: 0}, {X: 2, Y: 1}, {X: 4, Y: 2}, {X: 20, Y: 2}}, p.attemptPoints(job))
	job.Settled = 0
	assert.Equal(t, plotter.XY{X: 30, Y: 2}, p.attemptPoints(job)[3], "to the end while it has not settled")
}

func TestCountedStepsHaveAPointAPixelAtMost(t *testing.T) {
	p := &plots{end: 100}
	var times []time.Duration
	for i := range 400_000 {
		times = append(times, time.Duration(i)*200*time.Microsecond)
	}
	points := p.countUp(times, sizes[0])
	assert.LessOrEqual(t, len(points), int(sizes[0].width)+3)
	assert.Equal(t, plotter.XY{X: 100, Y: 400_000}, points[len(points)-1])
	assert.Equal(t, plotter.XYs{{X: 0, Y: 0}, {X: 100, Y: 0}}, p.countUp(nil, sizes[0]))
}

func TestLatencyRunsToTheFirstStoredDispatch(t *testing.T) {
	job := scenarios.JobResult{Submitted: time.Second, Dispatches: []scenarios.DispatchPoint{{At: 3 * time.Second}, {At: 9 * time.Second}}}
	assert.InDelta(t, 2.0, latencyOf(job), 1e-9)
	assert.Zero(t, latencyOf(scenarios.JobResult{Submitted: time.Second}))
}

func labels(ticks []plot.Tick) (out []string) {
	for _, tick := range ticks {
		out = append(out, tick.Label)
	}
	return out
}

func TestTicksAreRoundNumbersInAUnitThatFits(t *testing.T) {
	for _, c := range []struct {
		span time.Duration
		unit string
		want []string
	}{
		{41 * time.Second, "s", []string{"0", "10", "20", "30", "40"}},
		{900 * time.Microsecond, "µs", []string{"0", "200", "400", "600", "800"}},
		{3 * time.Second, "s", []string{"0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0"}},
		{17 * time.Minute, "min", []string{"0", "5", "10", "15"}},
		{20 * time.Hour, "h", []string{"0", "3", "6", "9", "12", "15", "18"}},
		{720 * time.Hour, "h", []string{"0", "100", "200", "300", "400", "500", "600", "700"}},
	} {
		u := unitFor(c.span)
		assert.Equal(t, c.unit, u.name, "%s", c.span)
		assert.Equal(t, c.want, labels(timeTicks{u, 6}.Ticks(0, c.span.Seconds())), "%s", c.span)
	}
	assert.Equal(t, []string{"0", "1", "2"}, labels(countTicks{5}.Ticks(0, 2.2)))
	assert.Equal(t, []string{"0", "10", "20", "30", "40", "50"}, labels(countTicks{5}.Ticks(0, 52.5)))
	assert.Equal(t, []string{"100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s"}, labels(powerTicks{1}.Ticks(-7, 1.2)))
	assert.Equal(t, []string{"10 ms", "1 s", "100 s"}, labels(powerTicks{2}.Ticks(-2.5, 2.5)))
	assert.LessOrEqual(t, len(countTicks{5}.Ticks(0, 1e18)), ticksMax)
	assert.Empty(t, timeTicks{units[0], 5}.Ticks(1, 1))
}
