package search

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// The shape of a workload's runs: a first step, a last one, and those in between side by side.
func TestRunsOfAWorkload(t *testing.T) {
	for steps, want := range map[int][][]string{
		1: {nil},
		2: {nil, {"s1"}},
		3: {nil, {"s1"}, {"s2"}},
		5: {nil, {"s1"}, {"s1"}, {"s1"}, {"s2", "s3", "s4"}},
	} {
		w := plans.Workload{Steps: steps, StepDelay: 20 * time.Second}
		r := w.Run(1, time.Time{})
		require.NoError(t, r.Validate())
		for i, s := range r.Steps {
			assert.Equal(t, want[i], s.DependsOn, "%d steps, %s", steps, s.ID)
			between := i > 0 && (i < steps-1 || i == 1)
			assert.Equal(t, between, s.DelaySec > 0, "%d steps, %s", steps, s.ID)
		}
	}
	w := plans.Workload{Steps: 4, StepDelay: 20 * time.Second}
	assert.Equal(t, int64(40), w.Run(1, time.Time{}).Steps[2].DelaySec)
	w.StepUntil = time.Minute
	var until []int64
	for _, s := range w.Run(1, time.Unix(1000, 0)).Steps {
		until = append(until, s.DelayUntil)
	}
	assert.Equal(t, []int64{0, 1_060_000, 1_060_000, 0}, until)
}

func TestFailingSteps(t *testing.T) {
	w := plans.Workload{Steps: 3, StepFailures: 2}
	for id, want := range map[string]bool{
		"run-1-s2-1": true, "run-12-s2-2": true, "run-1-s2-3": false, "run-1-s1-1": false, "run-1-s21-1": false, "job-2": false, "comp-run-1-s2-1": false,
	} {
		assert.Equal(t, want, w.Failing(id), id)
	}
	w.Steps = 1
	assert.True(t, w.Failing("run-1-s1-1"))
}

func TestStepDelaysAreWholeSeconds(t *testing.T) {
	p := plans.Defaults()
	p.Name = "delay"
	require.NoError(t, p.Set("workload.step_delay=1500ms"))
	assert.ErrorContains(t, p.Validate(), "workload.step_delay is 1.5s; give whole seconds, as in 30s")
}

// Drawn plans with runs keep what is promised of them.
func TestRunsKeepTheirPromises(t *testing.T) {
	for _, sets := range [][]string{
		{"workload.runs=2", "workload.steps=4", "workload.step_delay=12s"},
		{"workload.runs=1", "workload.step_retries=2", "workload.step_failures=1", "workload.step_backoff=12s"},
	} {
		for _, p := range examples(Space{Sets: sets}, 10) {
			require.Empty(t, breaks(t, p, ""), "%s", PlanText(t, p))
		}
	}
}
