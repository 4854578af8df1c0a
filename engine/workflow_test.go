package engine

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/saga"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
	"github.com/wavetank-sim/wavetank/engine/workflow"
)

// runStarted is a run of two steps, the first of which can be undone, once it has been stored and taken up.
func runStarted(t *testing.T, change ...func(*settings.Settings)) (*harness, *Client) {
	h := newHarnessOn(t, func(h *harness) { h.config.Workflows = true }, change...)
	c, err := NewClient(ClientConfig{Redis: h.config.Redis, JetStream: h.config.JetStream, Clock: h.clock, Settings: h.config.Settings})
	require.NoError(t, err)
	run := workflow.Run{RunID: "run-1", WorkflowID: "wf-1", Steps: []workflow.Step{
		{ID: "a", Topic: "job.default", Compensation: &job.Compensation{}},
		{ID: "b", Topic: "job.default", DependsOn: []string{"a"}, Retry: workflow.Retry{Max: 2}},
	}}
	for _, first := range []bool{true, false} {
		started, err := c.StartRun(t.Context(), run)
		require.NoError(t, err)
		assert.Equal(t, first, started)
	}
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
	h.runs.Close() // which waits for what follows the write
	assert.True(t, h.logged("run over", "run-1-b-1 is FAILED"))
}

func TestAStepBeyondItsRetriesFailsTheRun(t *testing.T) {
	h, c := runStarted(t)
	h.runEnds("run-1-a-1", job.StatusFailed, workflow.Failed, workflow.StepFailed, workflow.StepPending)
	_, err := c.StartRun(t.Context(), workflow.Run{RunID: "run-2", WorkflowID: "wf-1"})
	require.ErrorContains(t, err, "steps are 0; a run has 1 to 1000")
	h.runs.Close()
}

// A step that no message can take would never be submitted, and its run never end.
func TestARunWithAStepThatIsTooLargeIsRefused(t *testing.T) {
	h := newHarness(t)
	payload := json.RawMessage(`"` + strings.Repeat("x", int(h.js.Conn().MaxPayload())) + `"`)
	_, err := newClient(h).StartRun(t.Context(), workflow.Run{RunID: "run-1", WorkflowID: "wf-1", Steps: []workflow.Step{
		{ID: "a", Topic: "job.default"}, {ID: "b", Topic: "job.default", Payload: payload},
	}})
	require.ErrorIs(t, err, ErrTooLarge)
	assert.ErrorContains(t, err, "start run run-1: job run-1-b-1")
	assert.Empty(t, h.redis.Keys())
}

// A step that is cancelled before its job is submitted is submitted, and its run goes on to its end.
func TestAStepThatWasCancelledAheadEndsItsRun(t *testing.T) {
	h, c := runStarted(t, hardened)
	require.NoError(t, c.Cancel(t.Context(), "run-1-b-1", "not this one"))
	h.runEnds("run-1-a-1", job.StatusSucceeded, workflow.Running, workflow.StepSucceeded, workflow.StepSubmitted)
	var rec store.Record
	require.Eventually(t, func() (read bool) {
		var err error
		rec, err = h.store.Read(t.Context(), "run-1-b-1")
		return err == nil
	}, 10*time.Second, time.Millisecond)
	req, err := rec.Request()
	require.NoError(t, err)
	require.NoError(t, h.handle(req))
	require.Eventually(t, func() bool {
		r, err := h.runs.Runs.Read(t.Context(), "run-1")
		return err == nil && r.State == workflow.Failed
	}, 10*time.Second, time.Millisecond)
	h.runs.Close()
}

// However a run has failed, what its steps did is undone: at the reconciler's next tick.
func TestAFailedRunIsRolledBackWhateverItsWorkerSaid(t *testing.T) {
	for _, fatal := range []job.Status{job.StatusCancelled, job.StatusFailedFatal} {
		h, _ := runStarted(t, hardened)
		h.runEnds("run-1-a-1", job.StatusSucceeded, workflow.Running, workflow.StepSucceeded, workflow.StepSubmitted)
		require.Eventually(t, func() bool { return h.redis.Exists("job:run-1-b-1") }, 10*time.Second, time.Millisecond)
		h.runEnds("run-1-b-1", fatal, workflow.Failed, workflow.StepSucceeded, workflow.StepFailed)
		due, err := h.redis.ZScore("saga:rollbacks", "run-1")
		require.NoError(t, err)
		if fatal == job.StatusFailedFatal {
			assert.Greater(t, due, float64(h.clock.Now().Add(time.Hour).UnixMilli()), "it has been rolled back")
		} else {
			assert.InDelta(t, float64(h.clock.Now().UnixMilli()), due, 0)
			require.NoError(t, h.saga.Rollback(t.Context(), "run-1"))
		}
		assert.Equal(t, []string{"run-1-a-1"}, h.undone())
		h.runs.Close()
	}
}

// The documented design rolls back only what a worker calls final.
func TestAFailedRunIsNotRolledBackInTheDocumentedDesign(t *testing.T) {
	h, _ := runStarted(t)
	h.runEnds("run-1-a-1", job.StatusSucceeded, workflow.Running, workflow.StepSucceeded, workflow.StepSubmitted)
	require.Eventually(t, func() bool { return h.redis.Exists("job:run-1-b-1") }, 10*time.Second, time.Millisecond)
	h.runEnds("run-1-b-1", job.StatusCancelled, workflow.Failed, workflow.StepSucceeded, workflow.StepFailed)
	assert.False(t, h.redis.Exists("saga:rollbacks"))
	assert.True(t, h.redis.Exists("saga:run-1:stack"))
	h.runs.Close()
}

// What a run that is over leaves behind goes by itself.
func TestWhatIsKeptOfARunThatIsOver(t *testing.T) {
	h, _ := runStarted(t)
	assert.Zero(t, h.redis.TTL("cordum:wf:run:run-1"), "it may take any time")
	h.runEnds("run-1-a-1", job.StatusSucceeded, workflow.Running, workflow.StepSucceeded, workflow.StepSubmitted)
	assert.Equal(t, saga.StackTTL, h.redis.TTL("saga:run-1:stack"))
	require.Eventually(t, func() bool { return h.redis.Exists("job:run-1-b-1") }, 10*time.Second, time.Millisecond)
	h.runEnds("run-1-b-1", job.StatusSucceeded, workflow.Succeeded, workflow.StepSucceeded, workflow.StepSucceeded)
	assert.Equal(t, workflow.RunTTL, h.redis.TTL("cordum:wf:run:run-1"))
	assert.False(t, h.redis.Exists("saga:run-1:stack"), "nothing is to be undone any more")
	h.runs.Close()
}

// A step that waits for longer than stacks are kept finds that of its run when it fails.
func TestAStackOutlivesADelayOfItsRun(t *testing.T) {
	h, c := runStarted(t)
	const days = 90
	_, err := c.StartRun(t.Context(), workflow.Run{RunID: "run-2", WorkflowID: "wf-1", Steps: []workflow.Step{
		{ID: "a", Topic: "job.default", Compensation: &job.Compensation{}},
		{ID: "b", Topic: "job.default", DependsOn: []string{"a"}, DelaySec: days * 24 * 3600},
	}})
	require.NoError(t, err)
	require.NoError(t, h.runs.StartRun(t.Context(), "run-2"))
	h.redis.HSet("job:run-2-a-1", "state", string(job.Running), "attempts", "1")
	require.NoError(t, h.stepEnds("run-2-a-1", job.StatusSucceeded))
	require.Eventually(t, func() bool { return h.redis.TTL("saga:run-2:stack") == days*24*time.Hour+saga.StackTTL }, 10*time.Second, time.Millisecond)
	h.runs.Close()
}

// The lock of a run is none, and what is over is listed, too.
func TestRunsAreListed(t *testing.T) {
	h, c := runStarted(t)
	h.clock.Advance(time.Second)
	_, err := c.StartRun(t.Context(), workflow.Run{RunID: "a-run", WorkflowID: "wf-1", Steps: []workflow.Step{{ID: "a", Topic: "job.default"}}})
	require.NoError(t, err)
	h.runEnds("run-1-a-1", job.StatusFailed, workflow.Failed, workflow.StepFailed, workflow.StepPending)
	require.NoError(t, h.redis.Set(workflow.RunLockKey("run-1"), "token"))
	list, err := h.runs.Runs.List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 2)
	assert.Equal(t, []string{"run-1", "a-run"}, []string{list[0].RunID, list[1].RunID}, "the oldest first")
	assert.Equal(t, workflow.Failed, list[0].State)
	one, err := h.runs.Runs.Read(t.Context(), "a-run")
	require.NoError(t, err)
	assert.Equal(t, list[1], one)
	_, err = h.runs.Runs.Read(t.Context(), "run-3")
	require.ErrorIs(t, err, workflow.ErrNotFound)
	require.NoError(t, h.redis.Set(workflow.RunKey("run-3"), "text"))
	_, err = h.runs.Runs.List(t.Context())
	require.ErrorContains(t, err, "read cordum:wf:run:run-3: ")
	h.runs.Close()
}

func TestWithoutWorkflowsAnEngineHasNone(t *testing.T) {
	h := newHarness(t)
	assert.Nil(t, h.runs)
}

// Scheduler internals, section 8: the locks of workflow runs are as its table has them.
func TestTheLocksOfRuns(t *testing.T) {
	h, _ := runStarted(t, func(s *settings.Settings) {
		s.Workflow, s.TickLock = settings.Documented().Workflow, settings.UntilExpiry
	})
	assert.Equal(t, 30*time.Second, h.runs.LockTTL)
	assert.False(t, h.runs.Locks.Unrenewed)
	for _, c := range []struct {
		k   *lock.Tick
		key string
		ttl time.Duration
	}{
		{h.runs.Poller, "cordum:wf:delay:poller", 10 * time.Second},
		{h.runs.Reconciler, "cordum:workflow-engine:reconciler:default", 2 * h.settings.PollInterval},
	} {
		assert.Equal(t, c.key, c.k.Key)
		assert.Equal(t, c.ttl, c.k.TTL, c.key)
		assert.Equal(t, lock.UntilExpiry, c.k.Keep, c.key)
	}
}
