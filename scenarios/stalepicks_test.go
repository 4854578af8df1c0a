package scenarios

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

func TestImmediateRetriesHoldNothing(t *testing.T) {
	p, err := plans.Load("stale-worker")
	require.NoError(t, err)
	held := func() (picks int, held time.Duration) {
		res, err := Run(context.Background(), p, RunOptions{Modified: true})
		require.NoError(t, err)
		for _, j := range res.Jobs {
			picks, held = picks+j.StalePicks, held+j.StaleHeld
		}
		return picks, held
	}
	picks, time := held()
	assert.Positive(t, picks)
	assert.Zero(t, time)
	require.NoError(t, p.Set("engine.stale_worker=jittered-retries"))
	_, time = held()
	assert.Positive(t, time)
}
