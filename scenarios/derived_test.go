package scenarios

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// What the schedulers submit themselves, and what they put on record, is told.
func TestDerivedJobsAreTold(t *testing.T) {
	for scenario, told := range map[string][]string{
		"saga-rollback":        {" submitted comp-", ", compensation of job-", " wrote SUCCEEDED for comp-"},
		"workflow-timer-crash": {"At 40.025s scheduler-1 submitted run-1-s2-1, step of run-1."},
		"replay-approval":      {"dlq_replay_approved for job-3", "(by operator)", "submitted job-3-replay-1, replay 1 of job-3"},
		"replay-denied":        {"dlq_replay_denied for job-3, replay denied by policy"},
	} {
		p, err := plans.Load(scenario)
		require.NoError(t, err)
		res, err := Run(t.Context(), p, RunOptions{Source: scenario})
		require.NoError(t, err)
		text := strings.Join(res.Telling, "\n")
		for _, words := range told {
			at := strings.Index(text, words)
			if assert.GreaterOrEqual(t, at, 0, "%s tells nothing of %q:\n%s", scenario, words, strings.Join(res.Telling, "\n")) {
				text = text[at:]
			}
		}
	}
}

// A result has all of a run: its outcome, and its steps as jobs.
func TestAResultTellsOfRuns(t *testing.T) {
	p, err := plans.Load("workflow-undone")
	require.NoError(t, err)
	res, err := Run(t.Context(), p, RunOptions{Source: "workflow-undone"})
	require.NoError(t, err)
	require.Len(t, res.Runs, 1)
	run := res.Runs[0]
	assert.Equal(t, []string{"run-1", "FAILED", "step s2: run-1-s2-2 is FAILED (dispatch_failed)"}, []string{run.ID, run.State, run.Why})
	assert.Less(t, run.Started, run.Ended)
	require.Len(t, res.Derived, 6)
	for _, j := range res.Derived {
		assert.True(t, j.About, "the plan is about no job of a client, so %s stands for the run", j.ID)
		assert.Equal(t, "PENDING", j.Path[0].State)
		assert.Equal(t, j.State, j.Path[len(j.Path)-1].State)
		assert.Equal(t, []int{1, 1, 1}, []int{j.Attempts, len(j.Dispatches), j.Executions})
		assert.NotZero(t, j.Settled)
	}
	assert.False(t, res.Jobs[0].About)
}
