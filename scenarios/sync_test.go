package scenarios

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// A dispatch waits for each write that Redis syncs, and for each message that nats-server does.
func TestADispatchWaitsForTheDisk(t *testing.T) {
	took := func(disk, always string) time.Duration {
		p, err := plans.Load("calm")
		require.NoError(t, err)
		for _, set := range []string{"workload.jobs=1", "world.sync_time=100ms", "world.redis_disk=" + disk, "world.sync_always=" + always} {
			require.NoError(t, p.Set(set))
		}
		res, err := Run(context.Background(), p, RunOptions{Source: p.Name, Trace: io.Discard})
		require.NoError(t, err)
		require.Equal(t, Held, res.Verdict, told(res))
		job := &res.Jobs[0]
		return job.Dispatches[0].At - job.Submitted
	}
	neither, redis, nats, both := took("everysec", "false"), took("always", "false"), took("everysec", "true"), took("always", "true")
	assert.Less(t, neither, 100*time.Millisecond)
	assert.Greater(t, redis, 300*time.Millisecond, "a mark, a lock and two states")
	assert.Less(t, nats, 200*time.Millisecond, "a delivery waits for no answer")
	assert.Greater(t, both, redis-50*time.Millisecond)
}
