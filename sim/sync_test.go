package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// A server that syncs its files has carried out the operation, and answers later. Whoever does not wait for so long is told of the
// timeout at its deadline.
func TestAServerAnswersOnceItHasSynced(t *testing.T) {
	overBoth(t, func(t *testing.T, program string) {
		cfg := sim.Config{Seed: 1, RedisServer: program, Sync: func(op *sim.Op) time.Duration {
			if op.Write {
				return 3 * time.Second
			}
			return 0
		}}
		_, err := sim.Run(cfg, func(w *sim.World) error {
			w.Node("writer", func(p *sim.Process) {
				took := func(call func() error, want error) time.Duration {
					began := p.Clock().Now()
					assert.ErrorIs(t, call(), want)
					return p.Clock().Since(began)
				}
				assert.InDelta(t, 3, took(func() error { return p.Redis().Set(p.Context(), "k", "v", 0).Err() }, nil).Seconds(), 0.1)
				assert.Less(t, took(func() error { return p.Redis().Get(p.Context(), "k").Err() }, nil), 100*time.Millisecond)
				ctx, cancel := context.WithTimeout(p.Context(), 2*time.Second)
				defer cancel()
				assert.InDelta(t, 2, took(func() error { return p.Redis().Set(ctx, "late", "v", 0).Err() }, context.DeadlineExceeded).Seconds(), 0.1)
			}).Start()
			w.Step(time.Minute, nil)
			assert.Equal(t, map[string]map[string]string{"k": {"": "v"}, "late": {"": "v"}}, w.Redis())
			return w.CheckTruth()
		})
		require.NoError(t, err)
	})
}
