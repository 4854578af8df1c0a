package sim_test

import (
	"context"
	"slices"
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
		overBoth(t, func(t *testing.T, program string) {
			for how, receive := range map[string]func(*sim.Process, *redis.PubSub){
				"receive": func(p *sim.Process, sub *redis.PubSub) {
					_, err := sub.Receive(p.Context())
					assert.Error(t, err)
				},
				"channel": func(_ *sim.Process, sub *redis.PubSub) {
					for range sub.Channel() {
					}
				},
			} {
				_, err := sim.Run(sim.Config{Seed: 1, RedisServer: program}, func(w *sim.World) error {
					w.Node("reader", func(p *sim.Process) {
						sub := subscribe(p.Context(), p.Redis())
						if how == "receive" { // who listens to the channel closes it from elsewhere, or never
							defer func() { _ = sub.Close() }()
						}
						receive(p, sub)
					}).Start()
					w.Step(time.Minute, nil)
					return nil
				})
				require.ErrorIs(t, err, sim.ErrUnknownCommand, how)
				assert.ErrorContains(t, err, ": "+name+", of reader; use p.NATS(), or wrap what receives in p.Do")
			}
		})
	}
}

// Commands that block, that reach more than their world, or of which the effect or the answer would not be the world's are refused by
// name; so are those of which the one Redis differs from the other, over that one.
func TestCommandsThatAWorldCannotRun(t *testing.T) {
	refused := [][]any{
		{"blpop", "l", 0}, {"blmpop", 0, 1, "l", "left"}, {"bzpopmin", "z", 0}, {"xread", "block", 0, "streams", "s", "$"}, {"xreadgroup", "group", "g", "c", "streams", "s", ">"}, {"wait", 1, 0}, {"waitaof", 1, 0, 0},
		{"monitor"}, {"subscribe", "news"}, {"publish", "news", "x"}, {"select", 1}, {"fcall", "f", 0}, {"copy", "a", "b", "db", 1}, {"function", "list"},
		{"config", "set", "maxmemory", 1}, {"shutdown"}, {"client", "pause", 1000}, {"flushall"}, {"debug", "sleep", 1}, {"script", "debug", "yes"}, {"script", "kill"},
		{"lastsave"}, {"info"}, {"info", "server"}, {"randomkey"}, {"object", "idletime", "k"}, {"dump", "k"}, {"multi"}, {"exec"},
		{"eval", "return math.random(10)", 0}, {"script", "load", "return math['random'](10)"}, {"eval", "return _G.redis.call('TIME')", 0}, {"eval", "return loadstring('return 1')()", 0}, {"none-such"}, {},
	}
	over := map[string][][]any{
		"":             {{"sunionstore", "d", "a"}, {"zrangestore", "d", "z", 0, 1}, {"bitfield", "k", "get", "u4", 0}, {"pfadd", "p", "a"}, {"xadd", "s", "*", "f", "v"}, {"copy", "a", "b"}},
		"redis-server": {{"spop", "s"}, {"srandmember", "s"}, {"hrandfield", "h"}, {"sscan", "s", 0}, {"zscan", "z", 0}},
	}
	overBoth(t, func(t *testing.T, program string) {
		_, err := sim.Run(sim.Config{Seed: 1, RedisServer: program}, func(w *sim.World) error {
			w.Node("n", func(p *sim.Process) {
				for _, args := range slices.Concat(refused, over[program]) {
					err := p.Redis().Do(p.Context(), args...).Err()
					assert.ErrorIs(t, err, sim.ErrUnknownCommand, "%v", args)
					if len(args) > 0 {
						assert.ErrorContains(t, err, ": "+args[0].(string))
					}
				}
			}).Start()
			w.Step(time.Minute, nil)
			return w.CheckTruth()
		})
		require.NoError(t, err)
	})
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
