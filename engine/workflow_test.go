package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/faultline-sim/faultline/engine/job"
	"github.com/faultline-sim/faultline/engine/saga"
	"github.com/faultline-sim/faultline/engine/workflow"
)

// runStarted is a run of two steps, the first of which can be undone, once it has been stored and taken up.
func runStarted(t *testing.T) (*harness, *Client) {
	h := newHarnessOn(t, func(h *harness) { h.config.Workflows = true })
	c, err := NewClient(ClientConfig{Redis: h.config.Redis, JetStream: h.config.JetStream, Clock: h.clock, Settings: h.config.Settings})
	require.NoError(t, err)
	require.NoError(t, c.StartRun(t.Context(), workflow.Run{RunID: "run-1", WorkflowID: "wf-1", Steps: []workflow.Step{
		{ID: "a", Topic: "job.default", Compensation: &job.Compensation{}},
		{ID: "b", Topic: "job.default", DependsOn: []string{"a"}, Retry: workflow.Retry{Max: 2}},
	}}))
	require.NoError(t, h.runs.StartRun(t.Context(), "run-1"))
	return h, c
}

// runEnds handles the result of a step's job, and waits for the run to be in that state.
func (h *harness) runEnds(jobID string, s job.Status, state workflow.State, steps ...workflow.StepState) {
	h.t.Helper()
	h.redis.HSet("job:"+jobID, "state", string(job.Running), "attempts", "1")
	require.NoError(h.t, h.stepEnds(jobID, s))
	require.Eventually(h.t, func() bool {
		r, err := h.runs.Runs.Read(h.t.Context(), "run-1")
		var list []workflow.StepState
		for _, step := range r.Steps {
			list = append(list, step.State)
		}
		return err == nil && r.State == state && assert.ObjectsAreEqual(steps, list)
	}, 10*time.Second, time.Millisecond)
}

// The end of a job takes its run on; the jobs of a run are those of one saga, which is the run's.
func TestAFatalStepFailsItsRunAndUndoesIt(t *testing.T) {
	h, _ := runStarted(t)
	h.runEnds("run-1-a-1", job.StatusSucceeded, workflow.Running, workflow.StepSucceeded, workflow.StepSubmitted)
	stack, err := h.redis.List(saga.StackKey("run-1"))
	require.NoError(t, err)
	assert.Len(t, stack, 1)
	require.Eventually(t, func() bool { return h.redis.Exists("job:run-1-b-1") }, 10*time.Second, time.Millisecond)
	h.runEnds("run-1-b-1", job.StatusFailedFatal, workflow.Failed, workflow.StepSucceeded, workflow.StepFailed)
	assert.Equal(t, []string{"run-1-a-1"}, h.undone(), "and it was not tried again, though it may be")
	assert.True(t, h.logged("run over", "run-1-b-1 is FAILED"))
	h.runs.Close()
}

func TestAStepBeyondItsRetriesFailsTheRun(t *testing.T) {
	h, c := runStarted(t)
	h.runEnds("run-1-a-1", job.StatusFailed, workflow.Failed, workflow.StepFailed, workflow.StepPending)
	require.ErrorContains(t, c.StartRun(t.Context(), workflow.Run{RunID: "run-2", WorkflowID: "wf-1"}), "steps are 0; a run has 1 to 1000")
	h.runs.Close()
}

func TestWithoutWorkflowsAnEngineHasNone(t *testing.T) {
	h := newHarness(t)
	assert.Nil(t, h.runs)
}
