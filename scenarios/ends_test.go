package scenarios

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Where no invariant can promise an end, since the faults could have been worse, these jobs came to
// theirs all the same, and in time.
func TestRegressionsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		state  job.State
		within time.Duration // of virtual time, from the start
	}{
		"canceller-dies-after-its-void":   {job.Cancelled, 2 * time.Minute},
		"intent-for-a-worker-that-died":   {job.Succeeded, 5 * time.Minute},
		"redis-away-from-every-scheduler": {job.Succeeded, 155*time.Second + 30*time.Second},
	} {
		p, err := plans.Load(filepath.Join(corpus, name+".yaml"))
		require.NoError(t, err)
		res, err := Run(context.Background(), p, RunOptions{Source: p.Name})
		require.NoError(t, err)
		for _, j := range res.Jobs {
			assert.Equal(t, string(c.state), j.State, "%s: %s", name, j.ID)
			require.NotEmpty(t, j.Path)
			assert.LessOrEqual(t, j.Path[len(j.Path)-1].At, c.within, "%s: %s", name, j.ID)
		}
	}
}

// Scheduler internals, section 11: ready in less than a second. The only other scheduler is gone by then, and the
// workers' next heartbeats are 14 seconds away.
func TestAWarmStartDispatchesWithinASecond(t *testing.T) {
	const back = 27*time.Second + 500*time.Millisecond
	for _, preset := range []string{plans.PresetDocumented, plans.PresetHardened} {
		for warm, most := range map[string]time.Duration{"true": time.Second, "false": 0} {
			p, err := plans.Load("warm-start")
			require.NoError(t, err)
			require.NoError(t, p.Set("preset="+preset))
			require.NoError(t, p.Set("engine.warm_start="+warm))
			res, err := Run(context.Background(), p, RunOptions{Source: p.Name, Modified: true})
			require.NoError(t, err)
			first := res.Virtual
			for _, j := range res.Jobs {
				for _, d := range j.Dispatches {
					if d.At >= back {
						first = min(first, d.At)
					}
				}
			}
			if most > 0 {
				assert.Less(t, first-back, most, preset)
			} else {
				assert.Greater(t, first-back, 10*time.Second, "%s: without the snapshot it waits for heartbeats", preset)
			}
		}
	}
}
