package plots

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/plot/plotter"

	"github.com/wavetank-sim/wavetank/scenarios"
)

func TestAttemptPointsAreTheChanges(t *testing.T) {
	p := &runPlots{end: 30}
	second := func(n int) time.Duration { return time.Duration(n) * time.Second }
	job := scenarios.JobResult{Settled: second(20), Path: []scenarios.JobPoint{
		{At: second(1), Attempts: 0}, {At: second(2), Attempts: 1}, {At: second(3), Attempts: 1}, {At: second(4), Attempts: 2},
	}}
	assert.Equal(t, plotter.XYs{{X: 1, Y: 0}, {X: 2, Y: 1}, {X: 4, Y: 2}, {X: 20, Y: 2}}, p.attemptPoints(job))
	job.Settled = 0
	assert.Equal(t, plotter.XY{X: 30, Y: 2}, p.attemptPoints(job)[3], "to the end while it has not settled")
}

func TestCountedStepsHaveAPointAPixelAtMost(t *testing.T) {
	p := &runPlots{end: 100}
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

func TestBlindWindowsThatOverlapAreOne(t *testing.T) {
	p := &runPlots{end: 30, colour: map[string]int{"job-1": 0, "job-2": 1, "job-3": 2, "job-4": 3}, res: &scenarios.Result{}}
	for _, w := range []struct {
		job      string
		from, to int
	}{{"job-1", 5, 9}, {"job-2", 2, 6}, {"job-3", 3, 4}, {"job-4", 20, 0}, {"job-5", 1, 30}} {
		p.res.Jobs = append(p.res.Jobs, scenarios.JobResult{ID: w.job, Blind: &scenarios.BlindWindow{
			Opened: time.Duration(w.from) * time.Second, Closed: time.Duration(w.to) * time.Second, Open: w.to == 0}})
	}
	marks, jobs := p.blind()
	assert.Equal(t, blindMarks{{2, 9}, {20, 30}}, marks)
	assert.Equal(t, []string{"job-1", "job-2", "job-3", "job-4"}, jobs, "those in focus")
}
