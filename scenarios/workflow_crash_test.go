package scenarios

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// delayPath is what a replica does of a run with a delay, from its start by the poller to its end.
var delayPath = []phase.Phase{
	phase.PollLock, phase.TimerPop, phase.TimerWrite, phase.TimerRemove,
	phase.RunLock, phase.RunRead, phase.StepRead, phase.RunWrite, phase.RunUnlock, phase.RunsLock, phase.RunsRead,
	phase.SubmitWrite, phase.SubmitPublish,
}

// gate is an operation at which a scheduler crashes.
type gate struct {
	node, phase, name string
	writes            bool
}

// crashOnDelay runs a run of two steps, the second 12 s after the first, in which the scheduler crashes that makes
// the n-th operation of the delay path, before or after the operation has its effect; it stays away for so long.
// It returns the operation.
func crashOnDelay(t *testing.T, preset string, schedulers int, reads bool, n int, applied bool, away time.Duration) (res *Result, at *gate) {
	t.Helper()
	p := plans.Defaults()
	p.Name = "crash"
	p.TakePreset(preset)
	p.Engine.SnapshotEvery, p.Engine.PollInterval = time.Minute, 10*time.Second // few snapshots, and a reconciler in time
	p.Topology.Schedulers, p.Topology.Workers, p.Workload.Jobs = schedulers, 1, 1
	p.Workload.Runs, p.Workload.Steps, p.Workload.StepDelay = 1, 2, 12*time.Second
	require.NoError(t, p.Validate())

	r, err := newRun(context.Background(), p, RunOptions{Source: p.Name})
	require.NoError(t, err)
	cfg := r.config()
	plan := cfg.Intercept
	seen := 0
	cfg.Intercept = func(ctx context.Context, op *sim.Op, apply func() error) error {
		node := op.Node()
		if at != nil || len(r.record.runs) == 0 || !slices.Contains(plans.NodeNames("scheduler", schedulers), node) || !slices.Contains(delayPath, phase.Phase(op.Phase)) || !op.Write && !reads {
			return plan(ctx, op, apply)
		}
		if seen++; seen < n {
			return plan(ctx, op, apply)
		}
		at = &gate{node, op.Phase, op.Name, op.Write}
		if applied {
			_ = plan(ctx, op, apply)
		}
		w := op.World()
		w.Find(node).Crash()
		w.Control("crash", node, func() {})
		w.At(w.Now()+away, "restart", node, w.Find(node).Start)
		return nil
	}
	sum, err := sim.Run(cfg, r.play)
	require.NoError(t, err, "crash at operation %d (%+v)", n, at)
	return r.result(sum), at
}

// A scheduler may die between any two operations of a delay, and in the middle of each: the delay does not fire
// early, it is not lost, and it does not fire twice, whether the replica comes back soon or is away for long.
func TestCrashAtEveryGateOfADelay(t *testing.T) {
	for name, c := range map[string]struct {
		preset     string
		schedulers int
		reads      bool // at those, too; to all others a crash there is as one after the write before it
		away       time.Duration
	}{
		"documented, alone": {plans.PresetDocumented, 1, false, 15 * time.Second},
		"hardened, alone":   {plans.PresetHardened, 1, true, 15 * time.Second},
		"hardened, of two":  {plans.PresetHardened, 2, false, 3 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			c.reads = c.reads && !testing.Short() // a night crashes at these, too
			phases := map[string]bool{}
			check := func(n int, applied bool) *gate {
				res, at := crashOnDelay(t, c.preset, c.schedulers, c.reads, n, applied, c.away)
				if at != nil {
					phases[at.phase] = true
					checkDelay(t, res, *at, applied)
				}
				return at
			}
			for n := 1; ; n++ {
				at := check(n, false)
				if at == nil {
					break
				}
				if at.writes {
					check(n, true)
				}
			}
			for _, p := range delayPath {
				if faults.Reads(string(p)) && !c.reads {
					continue
				}
				assert.True(t, phases[string(p)], "no crash at %s", p)
			}
		})
	}
}

// checkDelay asks of a run with a crash what is promised under every crash, and what else is promised under it.
func checkDelay(t *testing.T, res *Result, at gate, applied bool) {
	t.Helper()
	assert.Empty(t, res.Open, "a crash at %+v, applied: %v", at, applied)
	always := []string{"steps-in-order", "no-delay-fires-early", "no-delay-fires-twice", "every-run-settles"}
	for _, v := range res.Violations {
		assert.False(t, v.Promised || slices.Contains(always, v.Invariant), "%s: %s after a crash at %+v, applied: %v", v.Invariant, v.Message, at, applied)
	}
	for _, i := range res.Invariants {
		if i.Name == "no-delay-fires-early" || i.Name == "every-run-settles" {
			assert.Equal(t, 1, i.Exercised, "%s after a crash at %+v, applied: %v", i.Name, at, applied)
		}
	}
}
