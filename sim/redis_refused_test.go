package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// What would pass no gate is refused by name, and ends the run with an error even where nobody looks at the call's.
func TestASubscriptionOfRedisIsRefused(t *testing.T) {
	for name, subscribe := range map[string]func(ctx context.Context, c *redis.Client) *redis.PubSub{
		"subscribe":  func(ctx context.Context, c *redis.Client) *redis.PubSub { return c.Subscribe(ctx, "news") },
		"psubscribe": func(ctx context.Context, c *redis.Client) *redis.PubSub { return c.PSubscribe(ctx, "n*") },
		"ssubscribe": func(ctx context.Context, c *redis.Client) *redis.PubSub { return c.SSubscribe(ctx, "news") },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sim.Run(sim.Config{Seed: 1}, func(w *sim.World) error {
				w.Node("reader", func(p *sim.Process) {
					sub := subscribe(p.Context(), p.Redis())
					defer func() { _ = sub.Close() }()
					_, err := sub.Receive(p.Context())
					assert.Error(t, err)
				}).Start()
				w.Step(time.Minute, nil)
				return nil
			})
			require.ErrorIs(t, err, sim.ErrUnknownCommand)
			assert.ErrorContains(t, err, ": "+name+", of reader; use p.NATS(), or wrap what receives in p.Do")
		})
	}
}

// Commands that block, that leave the database that a world reads, or whose effect it could not read are refused by name.
func TestCommandsThatAWorldCannotRun(t *testing.T) {
	_, err := sim.Run(sim.Config{Seed: 1}, func(w *sim.World) error {
		w.Node("n", func(p *sim.Process) {
			for _, cmd := range [][]any{
				{"blpop", "l", 0}, {"blmpop", 0, 1, "l", "left"}, {"bzpopmin", "z", 0}, {"xread", "block", 0, "streams", "s", "$"}, {"wait", 1, 0}, {"waitaof", 1, 0, 0},
				{"monitor"}, {"subscribe", "news"}, {"publish", "news", "x"}, {"select", 1}, {"eval_ro", "return 1", 0}, {"function", "list"}, {"sunionstore", "d", "a"}, {"zrangestore", "d", "z", 0, 1},
			} {
				err := p.Redis().Do(p.Context(), cmd...).Err()
				assert.ErrorIs(t, err, sim.ErrUnknownCommand, "%v", cmd)
				assert.ErrorContains(t, err, ": "+cmd[0].(string))
			}
		}).Start()
		w.Step(time.Minute, nil)
		return w.CheckTruth()
	})
	require.NoError(t, err)
}

// What Redis picks at random hangs on the seed alone.
func TestWhatRedisPicksAtRandomIsSeeded(t *testing.T) {
	picked := func() (member string) {
		_, err := sim.Run(sim.Config{Seed: 3}, func(w *sim.World) error {
			w.Node("n", func(p *sim.Process) {
				for i := range 100 {
					p.Redis().SAdd(p.Context(), "s", i)
				}
				for range 5 {
					member += " " + p.Redis().SPop(p.Context(), "s").Val()
				}
			}).Start()
			w.Step(time.Minute, nil)
			return w.CheckTruth()
		})
		require.NoError(t, err)
		return member
	}
	assert.Equal(t, picked(), picked())
}
