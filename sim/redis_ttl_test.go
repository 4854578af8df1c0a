package sim_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// A transaction over a key that has a TTL is carried out if nobody else wrote the key, whatever it or another client
// asks about the TTL meanwhile; and the TTL is right.
func TestATTLIsNoWriteToWhoWatchesItsKey(t *testing.T) {
	uses := map[string]func(p *sim.Process, q redis.Pipeliner){
		"expire":      func(p *sim.Process, q redis.Pipeliner) { q.Expire(p.Context(), "k", time.Hour) },
		"expire xx":   func(p *sim.Process, q redis.Pipeliner) { q.ExpireXX(p.Context(), "k", time.Hour) },
		"expire gt":   func(p *sim.Process, q redis.Pipeliner) { q.ExpireGT(p.Context(), "k", time.Hour) },
		"pttl":        func(p *sim.Process, q redis.Pipeliner) { q.PTTL(p.Context(), "k") },
		"set keepttl": func(p *sim.Process, q redis.Pipeliner) { q.Set(p.Context(), "k", "w", redis.KeepTTL) },
		"script": func(p *sim.Process, q redis.Pipeliner) {
			q.Eval(p.Context(), `return redis.call("PTTL", KEYS[1])`, []string{"k"})
		},
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			overBoth(t, func(t *testing.T, program string) {
				var left time.Duration
				_, err := sim.Run(sim.Config{Seed: 1, RedisServer: program}, func(w *sim.World) error {
					w.Node("n", func(p *sim.Process) {
						ctx, c := p.Context(), p.Redis()
						p.Clock().Sleep(10 * time.Second)
						assert.NoError(t, c.Set(ctx, "k", "v", 30*time.Minute).Err())
						p.Clock().Sleep(10 * time.Minute)
						assert.NoError(t, c.Watch(ctx, func(tx *redis.Tx) error {
							assert.NoError(t, c.PTTL(ctx, "k").Err()) // of another connection
							p.Clock().Sleep(time.Minute)
							_, err := tx.TxPipelined(ctx, func(q redis.Pipeliner) error {
								q.Get(ctx, "other")
								use(p, q)
								return nil
							})
							if err == redis.Nil { // the answer of GET
								return nil
							}
							return err
						}, "k"))
						left = c.PTTL(ctx, "k").Val()
					}).Start()
					w.Step(time.Hour, nil)
					return w.CheckTruth()
				})
				require.NoError(t, err)
				want := 19 * time.Minute
				if name == "expire" || name == "expire xx" || name == "expire gt" {
					want = time.Hour
				}
				assert.InDelta(t, want, left, float64(time.Second))
			})
		})
	}
}

// A TTL that one transaction gives twice, or to a key that it makes, counts from that transaction on.
func TestATTLCountsFromTheStepThatGivesIt(t *testing.T) {
	overBoth(t, func(t *testing.T, program string) {
		var left time.Duration
		_, err := sim.Run(sim.Config{Seed: 1, RedisServer: program}, func(w *sim.World) error {
			w.Node("n", func(p *sim.Process) {
				ctx, c := p.Context(), p.Redis()
				p.Clock().Sleep(10 * time.Minute)
				_, err := c.TxPipelined(ctx, func(q redis.Pipeliner) error {
					q.Incr(ctx, "k")
					q.Expire(ctx, "k", time.Minute)
					q.Expire(ctx, "k", 5*time.Minute)
					return nil
				})
				assert.NoError(t, err)
				left = c.PTTL(ctx, "k").Val()
			}).Start()
			w.Step(14*time.Minute, nil)
			assert.Equal(t, "1", w.Redis()["k"][""])
			w.Step(16*time.Minute, nil)
			assert.Empty(t, w.Redis()["k"])
			return w.CheckTruth()
		})
		require.NoError(t, err)
		assert.InDelta(t, 5*time.Minute, left, float64(time.Second))
	})
}
