package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// The world is looked at at each multiple of an interval, at that very instant, and nothing differs from a world that
// nobody looks at.
func TestTheWorldIsLookedAtBetweenSteps(t *testing.T) {
	var digests []string
	for _, every := range []time.Duration{0, 1500 * time.Millisecond} {
		var at []time.Duration
		var world *sim.World
		sum, err := sim.Run(sim.Config{Seed: 3, Every: every, OnEvery: func(when time.Duration) {
			assert.Equal(t, when, world.Now())
			at = append(at, when)
		}}, func(w *sim.World) error {
			world = w
			w.Node("beater", func(p *sim.Process) {
				for range 10 {
					p.Clock().Sleep(time.Second)
					p.Redis().Incr(p.Context(), "beats")
				}
			}).Start()
			w.Step(10*time.Second, nil)
			assert.Equal(t, "9", w.RedisKey("beats")[""])
			return nil
		})
		require.NoError(t, err)
		digests = append(digests, sum.Digest)
		if every == 0 {
			assert.Empty(t, at)
			continue
		}
		assert.Equal(t, []time.Duration{0, every, 2 * every, 3 * every, 4 * every, 5 * every, 6 * every}, at)
	}
	assert.Equal(t, digests[0], digests[1])
}
