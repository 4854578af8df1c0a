package sim_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/faultline-sim/faultline/sim"
)

// A command that adds nobody to a sorted set has changed nothing, and a score of 0 is a score.
func TestSortedSetsAreReadByTheirMembers(t *testing.T) {
	var changes [][]sim.Change
	observe := func(e *sim.Event) {
		if e.Kind == sim.KindRedis {
			changes = append(changes, append([]sim.Change(nil), e.Changes...))
		}
	}
	_, err := sim.Run(sim.Config{Seed: 1, Observe: observe}, func(w *sim.World) error {
		w.Node("n", func(p *sim.Process) {
			ctx, r := p.Context(), p.Redis()
			r.ZAdd(ctx, "due", redis.Z{Score: 0, Member: "a"})
			r.ZAddXX(ctx, "due", redis.Z{Score: 7, Member: "b"})
			r.ZAddXX(ctx, "due", redis.Z{Score: 8, Member: "a"})
			r.ZAdd(ctx, "due", redis.Z{Score: 0, Member: "a"})
			r.ZRem(ctx, "due", "b")
			r.ZRem(ctx, "due", "a")
			r.ZAddXX(ctx, "due", redis.Z{Score: 9, Member: "a"})
		}).Start()
		w.Step(time.Minute, nil)
		return w.CheckTruth()
	})
	require.NoError(t, err)
	at := func(score string) []sim.Change { return []sim.Change{{Key: "due", Field: "a", Value: score}} }
	assert.Equal(t, [][]sim.Change{at("0"), nil, at("8"), at("0"), nil, {{Key: "due", Field: "a", Gone: true}}, nil}, changes)
}
