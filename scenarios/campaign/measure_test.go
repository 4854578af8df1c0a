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
		"unrepaired": 100, "double_effects": 0, "replays_denied": 0,
		"failed": 25, "timed_out": 0, "false_timeout": 0, "unsettled": 25, "state_writes": 3, "operations": 50,
	}, Measure(res))
	assert.Empty(t, Measure(&scenarios.Result{Jobs: []scenarios.JobResult{{ID: "job-1"}}}), "no job, no measure")
}

// Job 1 has its effect, and so have two of its replays. Job 2 is repaired by the replay of its replay. Job 3 is not.
func TestRepairsByHand(t *testing.T) {
	replay := func(id, of, state string, settled time.Duration, effects int) *scenarios.DerivedJob {
		return &scenarios.DerivedJob{JobResult: scenarios.JobResult{ID: id, State: state, Settled: settled, Effects: effects}, Of: of, Replay: true}
	}
	failed := func(id, state string, at time.Duration, effects int) scenarios.JobResult {
		return scenarios.JobResult{ID: id, State: state, Submitted: time.Second, Settled: at, Effects: effects}
	}
	taken := Measure(&scenarios.Result{
		Jobs: []scenarios.JobResult{
			failed("job-1", "TIMEOUT", 10*time.Second, 1), failed("job-2", "FAILED", 10*time.Second, 0), failed("job-3", "FAILED", 10*time.Second, 0),
			failed("job-4", "SUCCEEDED", 10*time.Second, 1),
		},
		Derived: []*scenarios.DerivedJob{
			replay("job-1-replay-1", "job-1", "SUCCEEDED", 20*time.Second, 2),
			replay("job-2-replay-1", "job-2", "FAILED", 20*time.Second, 0),
			replay("job-2-replay-2", "job-2-replay-1", "SUCCEEDED", 40*time.Second, 1),
			{JobResult: scenarios.JobResult{ID: "comp-1", State: "SUCCEEDED", Effects: 1}, Of: "job-4"},
		},
		Counters: map[string]float64{`dlq_replay_denied_total{reason_code="timeout"}`: 2},
	})
	assert.InDelta(t, 20, taken["repair_s"], 1e-9, "of 10 s and 30 s")
	assert.InDelta(t, 100.0/3, taken["unrepaired"], 1e-9)
	assert.InDelta(t, 2, taken["double_effects"], 1e-9)
	assert.InDelta(t, 2, taken["replays_denied"], 1e-9)
}

func TestMetricsAreAllTaken(t *testing.T) {
	repaired := &scenarios.DerivedJob{JobResult: scenarios.JobResult{ID: "job-1-replay-1", State: "SUCCEEDED", Settled: 2}, Of: "job-1", Replay: true}
	taken := Measure(&scenarios.Result{Jobs: []scenarios.JobResult{{ID: "job-1", Submitted: 1, State: "FAILED"}}, Derived: []*scenarios.DerivedJob{repaired}})
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
