package scenarios

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// crashAt runs two jobs on one scheduler and one worker, of which node crashes at its n-th operation
// after a scheduler first hears of job 1 (before or after the operation had its effect), and starts
// again 30 s later. It returns the jobs, and the operation at which the node crashed.
func crashAt(t *testing.T, preset, node string, n int, applied bool, list ...faults.Fault) (jobs []JobResult, at *sim.Event) {
	t.Helper()
	p := plans.Defaults()
	p.Name, p.Faults = "crash", list
	p.TakePreset(preset)
	p.Engine.SnapshotEvery = time.Minute // or most of the steps are snapshots
	p.Topology.Schedulers, p.Topology.Workers, p.Workload.Jobs = 1, 1, 2
	p.Workload.Every = 2 * time.Second
	require.NoError(t, p.Validate())

	r, err := newRun(context.Background(), p, RunOptions{Source: p.Name})
	require.NoError(t, err)
	cfg := r.config()
	plan := cfg.Intercept
	seen, hearing := 0, false
	cfg.Intercept = func(ctx context.Context, op *sim.Op, apply func() error) error {
		hearing = hearing || op.Phase == "submit_deliver"
		if at != nil || !hearing || op.Node() != node {
			return plan(ctx, op, apply)
		}
		if seen++; seen < n {
			return plan(ctx, op, apply)
		}
		at = &sim.Event{Kind: op.Kind, Name: op.Name, Job: op.Job, Phase: op.Phase}
		if applied {
			_ = plan(ctx, op, apply)
		}
		w := op.World()
		w.Find(node).Crash()
		w.Control("crash", node, func() {})
		w.At(w.Now()+30*time.Second, "restart", node, w.Find(node).Start)
		return nil
	}
	sum, err := sim.Run(cfg, r.play)
	require.NoError(t, err, "crash at operation %d (%+v)", n, at)
	return r.result(sum).Jobs, at
}

// A node may die between any two operations of a dispatch, and in the middle of each. The world
// ends cleanly (a goroutine left in the bubble is an error), and the restarted node goes on: the
// second job, and the first too, succeed; but the documented design loses the first if it was DISPATCHED
// and not yet published: the reconciler finds it.
func TestCrashAtEveryGateOfADispatch(t *testing.T) {
	_, err := sim.Run(sim.Config{}, func(*sim.World) error { return nil }) // the process's first starts nats-server's clock
	require.NoError(t, err)
	before := runtime.NumGoroutine()
	publishFails := faults.Fault{On: &faults.Match{Job: 1, Phase: "publish"}, Do: faults.FailBefore}
	for name, c := range map[string]struct {
		preset, node string
		faults       []faults.Fault
		phases       []string // among the gates that must have been met
	}{
		"scheduler": {plans.PresetDocumented, "scheduler-1", nil, []string{
			"submit_deliver", "lock_acquire", "state_read", "scheduled_write", "dispatched_write", "publish", "running_write",
			"lock_release", "submit_ack", "result_deliver", "result_write", "result_ack",
		}},
		"hardened scheduler": {plans.PresetHardened, "scheduler-1", nil, []string{
			"processed_read", "inflight_write", "lock_acquire", "state_read", "scheduled_write", "dispatched_write", "publish", "running_write",
			"lock_release", "processed_write", "submit_ack", "result_write",
		}},
		"hardened scheduler that resumes": {plans.PresetHardened, "scheduler-1", []faults.Fault{publishFails}, []string{"submit_nak", "publish"}},
		"scheduler that rolls back":       {plans.PresetDocumented, "scheduler-1", []faults.Fault{publishFails}, []string{"rollback_write", "submit_nak", "publish"}},
		"worker":                          {plans.PresetDocumented, "worker-1", nil, []string{"job_deliver", "effect", "result_publish", "job_ack"}},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && c.faults != nil {
				t.Skip("a night crashes after a failed publish, too")
			}
			phases := map[string]bool{}
			for n := 1; ; n++ {
				jobs, at := crashAt(t, c.preset, c.node, n, false, c.faults...)
				if at == nil || at.Job == "job-2" {
					break
				}
				phases[at.Phase] = true
				checkCrash(t, c.preset, jobs, at, false)
				jobs, at = crashAt(t, c.preset, c.node, n, true, c.faults...)
				checkCrash(t, c.preset, jobs, at, true)
			}
			for _, phase := range c.phases {
				assert.True(t, phases[phase], "no crash at %s", phase)
			}
			noneLeft(t, before+1)
		})
	}
}

// noneLeft waits until no more goroutines are left than those, the subtest's own among them. Outside of a
// bubble one that has nothing left to do may still be about to end, however long other processes keep it
// from that.
func noneLeft(t *testing.T, most int) {
	t.Helper()
	for range 1000 {
		if runtime.NumGoroutine() <= most {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	assert.Fail(t, "goroutines are left", "%s", stacks[:runtime.Stack(stacks, true)])
}

func checkCrash(t *testing.T, preset string, jobs []JobResult, at *sim.Event, applied bool) {
	t.Helper()
	assert.Equal(t, "SUCCEEDED", jobs[1].State, "job 2, after a crash at %+v, applied: %v", at, applied)
	if jobs[0].State == "TIMEOUT" && preset == plans.PresetDocumented {
		assert.Empty(t, jobs[0].Dispatches, "the reconciler found job 1 after a crash at %+v, applied: %v", at, applied)
		between := at.Phase == "dispatched_write" && applied || at.Phase == "publish" || at.Phase == "rollback_write" && !applied
		assert.True(t, between, "after a crash at %+v, applied: %v", at, applied)
		return
	}
	assert.Equal(t, "SUCCEEDED", jobs[0].State, "job 1, after a crash at %+v, applied: %v", at, applied)
	assert.Len(t, jobs[0].Dispatches, 1)
}
