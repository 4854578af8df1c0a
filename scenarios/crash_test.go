package scenarios

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/faultline-sim/faultline/sim"
)

// crashAt runs two jobs on one scheduler that crashes at its n-th operation after it first hears of
// job 1 (before or after the operation had its effect), and starts again 30 s later.
// It returns the jobs, and the operation at which the scheduler crashed.
func crashAt(t *testing.T, n int, applied bool) (jobs []JobResult, at *sim.Event) {
	t.Helper()
	p := Defaults()
	p.Name, p.Preset, p.Engine = "crash", PresetDocumented, presetSettings(PresetDocumented)
	p.Topology.Schedulers, p.Topology.Workers, p.Workload.Jobs = 1, 1, 2
	p.Workload.Every = 2 * time.Second
	require.NoError(t, p.Validate())

	r := newRun(context.Background(), p, RunOptions{Source: p.Name})
	cfg := r.config()
	seen, hearing := 0, false
	cfg.Intercept = func(_ context.Context, op *sim.Op, apply func() error) error {
		hearing = hearing || op.Phase == "submit_deliver"
		if at != nil || !hearing || op.Node() != "scheduler-1" {
			return apply()
		}
		if seen++; seen < n {
			return apply()
		}
		at = &sim.Event{Kind: op.Kind, Name: op.Name, Job: op.Job, Phase: op.Phase}
		if applied {
			_ = apply()
		}
		w := op.World()
		w.Find("scheduler-1").Crash()
		w.Control("crash", "scheduler-1", func() {})
		w.At(w.Now()+30*time.Second, "restart", "scheduler-1", w.Find("scheduler-1").Start)
		return nil
	}
	sum, err := sim.Run(cfg, r.play)
	require.NoError(t, err, "crash at operation %d (%+v)", n, at)
	return r.result(sum).Jobs, at
}

// A scheduler may die between any two operations of a dispatch, and in the middle of each. The
// world ends cleanly (a goroutine left in the bubble is an error), and the restarted scheduler goes
// on: the second job, and the first too unless it was DISPATCHED and not yet published, succeed.
func TestCrashAtEveryGateOfADispatch(t *testing.T) {
	before := runtime.NumGoroutine()
	phases := map[string]bool{}
	for n := 1; ; n++ {
		var at *sim.Event
		for _, applied := range []bool{false, true} {
			var jobs []JobResult
			if jobs, at = crashAt(t, n, applied); at == nil || at.Job == "job-2" {
				break
			}
			phases[at.Phase] = true
			assert.Equal(t, "SUCCEEDED", jobs[1].State, "job 2, after a crash at operation %d (%+v, applied: %v)", n, at, applied)
			if at.Phase == "dispatched_write" && applied || at.Phase == "publish" && !applied {
				assert.Equal(t, "DISPATCHED", jobs[0].State, "job 1 waits for a reconciler after a crash at %+v", at)
				assert.Empty(t, jobs[0].Dispatches)
				continue
			}
			assert.Equal(t, "SUCCEEDED", jobs[0].State, "job 1, after a crash at operation %d (%+v, applied: %v)", n, at, applied)
			assert.Len(t, jobs[0].Dispatches, 1)
		}
		if at == nil || at.Job == "job-2" {
			break
		}
	}
	for _, phase := range []string{
		"submit_deliver", "lock_acquire", "state_read", "scheduled_write", "dispatched_write", "publish", "running_write",
		"lock_release", "submit_ack", "result_deliver", "result_write", "result_ack",
	} {
		assert.True(t, phases[phase], "no crash at %s", phase)
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before+1, "no goroutine is left behind")
}
