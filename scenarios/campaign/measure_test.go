package campaign

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/scenarios"
)

func TestMeasureByHand(t *testing.T) {
	dispatches := func(at ...time.Duration) (list []scenarios.DispatchPoint) {
		for _, d := range at {
			list = append(list, scenarios.DispatchPoint{At: d})
		}
		return list
	}
	res := &scenarios.Result{
		Virtual: 100 * time.Second, Steps: 200,
		Jobs: []scenarios.JobResult{
			{ID: "job-1", State: "SUCCEEDED", Attempts: 1, Submitted: 10 * time.Second, Dispatches: dispatches(11 * time.Second), Executions: 1, Path: make([]scenarios.JobPoint, 5)},
			{ID: "job-2", State: "SUCCEEDED", Attempts: 5, Submitted: 10 * time.Second, Dispatches: dispatches(14*time.Second, 40*time.Second), Executions: 2, Path: make([]scenarios.JobPoint, 7),
				StalePicks: 6, StaleExhausted: 2, StaleHeld: 2 * time.Second, ToDead: true, Blind: &scenarios.BlindWindow{Opened: 20 * time.Second, Closed: 30 * time.Second}},
			{ID: "job-3", State: "DISPATCHED", Attempts: 1, Submitted: 20 * time.Second, Blind: &scenarios.BlindWindow{Opened: 90 * time.Second, Open: true}},
			{ID: "job-4", State: "FAILED", Attempts: 0, Submitted: 20 * time.Second, StalePicks: 2, StaleExhausted: 1},
			{ID: "job-5"}, // its submission was never stored
		},
		Counters: map[string]float64{
			`scheduler_retry_total{phase="pick",reason_code="stale_worker",topic="job.default"}`: 2,
			`scheduler_retry_total{phase="pick",reason_code="no_workers",topic="job.default"}`:   1,
			`scheduler_retry_total{phase="publish",reason_code="dispatch_failed"}`:               5,
			`scheduler_retry_totals{reason_code="stale_worker"}`:                                 99,
		},
	}
	assert.Equal(t, Measures{
		"stale_exhausted": 50, "stale_returns": 0.75, "stale_picks": 2, "stale_held_s": 0.5, "stale_unnamed": 0.25,
		"dispatch_p50_s": 4,  // of 1, 4, 80 and 80: two were never dispatched, and count to the end
		"dispatch_p99_s": 80, //
		"attempts_burnt": 1, "retries": 2, "dead_dispatch": 25, "blind_window_s": 5, "duplicates": 25, "executed_twice": 25,
		"failed": 25, "timed_out": 0, "false_timeout": 0, "unsettled": 25, "state_writes": 3, "operations": 50,
	}, Measure(res))
	assert.Empty(t, Measure(&scenarios.Result{Jobs: []scenarios.JobResult{{ID: "job-1"}}}), "no job, no measure")
}

func TestMetricsAreAllTaken(t *testing.T) {
	taken := Measure(&scenarios.Result{Jobs: []scenarios.JobResult{{ID: "job-1", Submitted: 1}}})
	seen := map[string]bool{}
	for _, m := range Metrics() {
		assert.Contains(t, taken, m.Name)
		assert.False(t, seen[m.Name])
		seen[m.Name] = true
		assert.NotEmpty(t, m.Title)
		assert.Regexp(t, `\.$`, m.Says)
		assert.Contains(t, []string{"", "s", "%"}, m.Unit)
	}
	assert.Len(t, taken, len(Metrics()))
}

func TestQuantileIsByNearestRank(t *testing.T) {
	ten := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	assert.Equal(t, 5.0, quantile(ten, 0.5))
	assert.Equal(t, 10.0, quantile(ten, 0.99))
	assert.Equal(t, 1.0, quantile(ten, 0))
	assert.Equal(t, 7.0, quantile([]float64{7}, 0.5))
}
