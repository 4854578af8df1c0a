package reports

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/reports/plots"
	"github.com/wavetank-sim/wavetank/scenarios"
)

func (t *tape) figures() []plots.Figure {
	c := newCollector(t.res, focusOn(t.res))
	for _, e := range t.events {
		c.add(e)
	}
	return plots.Run(t.plan, t.res, plots.Traced{Focus: c.focus.jobs, Naks: c.naks, Rollbacks: c.rollbacks})
}

func TestPlotsAreTheSameBytesForTheSameRun(t *testing.T) {
	first := crowd(300, 40).figures()
	for range 3 {
		require.Equal(t, first, crowd(300, 40).figures())
	}
}

func TestPlotsAreInlineSVGInTheColoursOfThePage(t *testing.T) {
	for _, f := range staleWorker().figures()[:2] {
		require.Len(t, f.SVGs, 2)
		for i, svg := range f.SVGs {
			s := string(svg)
			assert.True(t, strings.HasPrefix(s, `<svg class="`+[]string{"wide", "narrow"}[i]+`" viewBox="0 0 `), "no prologue, no fixed size")
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
	assert.Equal(t, []plots.LegendEntry{{Mark: "line", Name: "job-0", Text: "job-3"}, {Mark: "line", Name: "faint", Text: "other jobs"}, {Mark: "fault-line", Name: "fault", Text: "fault"}}, fs[0].Legend)
	assert.Equal(t, "retries (a message handed back; 2 in all)", fs[2].Legend[0].Text)
	assert.Equal(t, "rollbacks (DISPATCHED back to SCHEDULED; 2 in all)", fs[2].Legend[1].Text)

	tp := publishFailure()
	tp.res.Jobs[4].Dispatches = nil
	tp.plan.Engine.MaxSchedulingRetries = 6
	fs = tp.figures()
	assert.Contains(t, fs[0].Legend, plots.LegendEntry{Mark: "dash", Name: "bad", Text: "retry ceiling, 6"})
	assert.Contains(t, fs[1].Legend, plots.LegendEntry{Mark: "cross", Name: "bad", Text: "1 job never dispatched"})
}

func TestBlindWindowsAreShaded(t *testing.T) {
	for name, c := range map[string]struct {
		of   *tape
		mark string
		text string
	}{
		"over":  {ackLost(true), "blind window of job-3", "job-3 ends at 3, blind window 4.3 s"},
		"open":  {staleWorker(), "blind window of job-2", "job-2 ends at 1, blind window open since 5.012s"},
		"never": {publishFailure(), "", ""},
	} {
		f := c.of.figures()[0]
		band := slices.IndexFunc(f.Legend, func(e plots.LegendEntry) bool { return e.Text == c.mark })
		require.Equal(t, c.mark == "", band < 0, name)
		for _, svg := range f.SVGs {
			if band < 0 {
				assert.NotContains(t, string(svg), "var(--blind)", name)
				continue
			}
			assert.Contains(t, string(svg), "var(--"+f.Legend[band].Name+")", name)
			assert.Contains(t, string(svg), c.text, name)
		}
	}
}

// What comes long after all else, as that a job was never settled, is no reason to squeeze the rest, and is not drawn where it was not.
func TestAPlotSaysWhatComesAfterItsEnd(t *testing.T) {
	const mark = `stroke-dasharray:4,3`
	drawn := func(at ...time.Duration) (plots.Figure, int) {
		tp := publishFailure()
		for _, at := range at {
			tp.res.Violations = append(tp.res.Violations, scenarios.Violation{Invariant: "every-job-settles", Promised: true, At: at})
		}
		f := tp.figures()[0]
		return f, strings.Count(string(f.SVGs[0]), mark)
	}
	line := plots.LegendEntry{Mark: "violation-line", Name: "bad", Text: "violation"}
	_, none := drawn()
	f, n := drawn(time.Second)
	assert.Equal(t, none+1, n)
	assert.Contains(t, f.Legend, line)
	assert.Empty(t, f.Notes)
	f, n = drawn(45*time.Minute+4*time.Second, time.Hour)
	assert.Equal(t, none, n)
	assert.NotContains(t, f.Legend, line)
	assert.Equal(t, []string{"2 violations come after the end of these plots, the first at 45m4s."}, f.Notes)
}
