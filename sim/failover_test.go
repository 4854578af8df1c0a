package sim_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/sim"
)

// scribble writes to keys of every type, with and without a TTL, one command or transaction a step.
func scribble(p *sim.Process) {
	ctx, rdb := p.Context(), p.Redis()
	draw := func(n uint64) uint64 { return p.Rand().Uint64(ctx) % n }
	for i := 0; ctx.Err() == nil; i++ {
		p.Clock().Sleep(time.Duration(1+draw(20)) * time.Millisecond)
		n := fmt.Sprint(draw(4))
		switch draw(14) {
		case 0:
			rdb.Set(ctx, "string:"+n, i, 0)
		case 1:
			rdb.Set(ctx, "string:"+n, i, time.Duration(1+draw(200))*time.Millisecond)
		case 2:
			rdb.Del(ctx, "string:"+n, "hash:"+n)
		case 3:
			rdb.HSet(ctx, "hash:"+n, fmt.Sprint("f", draw(3)), i)
		case 4:
			rdb.HDel(ctx, "hash:"+n, fmt.Sprint("f", draw(3)))
		case 5:
			rdb.PExpire(ctx, "hash:"+n, time.Duration(1+draw(200))*time.Millisecond)
		case 6:
			rdb.ZAdd(ctx, "zset:"+n, redis.Z{Score: float64(i), Member: fmt.Sprint("m", draw(3))})
		case 7:
			rdb.ZRem(ctx, "zset:"+n, fmt.Sprint("m", draw(3)))
		case 8:
			rdb.RPush(ctx, "list:"+n, i)
		case 9:
			rdb.LPop(ctx, "list:"+n)
		case 10:
			rdb.SAdd(ctx, "set:"+n, fmt.Sprint("m", draw(3)))
		case 11:
			rdb.SRem(ctx, "set:"+n, fmt.Sprint("m", draw(3)))
		default:
			_, _ = rdb.TxPipelined(ctx, func(tx redis.Pipeliner) error {
				tx.HSet(ctx, "hash:"+n, "f0", i)
				tx.Del(ctx, "zset:"+n)
				tx.ZAdd(ctx, "zset:"+n, redis.Z{Score: float64(i), Member: "m0"})
				tx.Set(ctx, "string:"+n, i, 0)
				return nil
			})
		}
	}
}

// After a failover Redis holds what it held a lag ago, but for keys whose time has run out since; the steps
// that follow are seen as ever.
func TestRedisFailsOverToWhatItHeldALagAgo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lag := time.Duration(rapid.IntRange(0, 400).Draw(t, "lag")) * time.Millisecond
		const at = time.Second
		var then, now map[string]map[string]string
		rewound := map[string]bool{}
		expired := func(key string) bool { _, is := now[key]; return !is && key[0] != 'z' && key[0] != 'l' }
		_, err := sim.Run(sim.Config{Seed: rapid.Uint64().Draw(t, "seed"), RedisLag: 400 * time.Millisecond, Observe: func(e *sim.Event) {
			if e.Name == "failover" {
				for _, c := range e.Changes {
					rewound[c.Key] = true
				}
			}
		}}, func(w *sim.World) error {
			w.Node("writer", scribble).Start()
			w.Step(at-lag, nil)
			then = w.Redis()
			w.At(at, "failover", sim.Redis, func() { w.FailOverRedis(lag); now = w.Redis() })
			w.Step(at, func() bool { return now != nil })
			if err := w.CheckTruth(); err != nil {
				return err
			}
			w.Step(at+300*time.Millisecond, nil)
			return w.CheckTruth()
		})
		require.NoError(t, err)
		for key, fields := range then {
			if !expired(key) {
				assert.Equal(t, fields, now[key], key)
			}
		}
		for key := range now {
			assert.Contains(t, then, key)
		}
		if lag > 100*time.Millisecond {
			assert.NotEmpty(t, rewound)
		}
	})
}

// Connections end with a failover: a transaction that is under way on one is not carried out. A command that is late on one never
// arrives, and a replica has no scripts.
func TestAFailoverEndsConnections(t *testing.T) {
	script := redis.NewScript(`return redis.call("INCR", KEYS[1])`)
	overBoth(t, func(t *testing.T, program string) {
		var txErr, scriptErr error
		cfg := sim.Config{RedisLag: time.Second, RedisServer: program}
		cfg.Intercept = func(ctx context.Context, op *sim.Op, apply func() error) error {
			if op.Target == "late" {
				assert.True(t, op.Late(500*time.Millisecond, apply, nil))
				return context.DeadlineExceeded
			}
			return apply()
		}
		_, err := sim.Run(cfg, func(w *sim.World) error {
			w.Node("writer", func(p *sim.Process) {
				ctx, rdb := p.Context(), p.Redis()
				assert.NoError(t, script.Run(ctx, rdb, []string{"n"}).Err())
				assert.ErrorIs(t, rdb.Set(ctx, "late", "x", 0).Err(), context.DeadlineExceeded)
				txErr = rdb.Watch(ctx, func(tx *redis.Tx) error {
					tx.Get(ctx, "key")
					p.Clock().Sleep(200 * time.Millisecond)
					_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { pipe.Set(ctx, "key", "seen", 0); return nil })
					return err
				}, "key")
				scriptErr = rdb.EvalSha(ctx, script.Hash(), []string{"n"}).Err()
			}).Start()
			w.At(100*time.Millisecond, "failover", sim.Redis, func() { w.FailOverRedis(time.Second) })
			w.Step(time.Second, nil)
			assert.Empty(t, w.Redis())
			return w.CheckTruth()
		})
		require.NoError(t, err)
		assert.ErrorIs(t, txErr, io.EOF)
		assert.ErrorContains(t, scriptErr, "NOSCRIPT")
	})
}

func TestAFailoverGoesNoFurtherBackThanTheWorldRemembers(t *testing.T) {
	_, err := sim.Run(sim.Config{RedisLag: time.Second}, func(w *sim.World) error {
		w.FailOverRedis(2 * time.Second)
		return nil
	})
	assert.ErrorContains(t, err, "Config.RedisLag is 1s")
}

// What a WAIT has confirmed a failover does not lose, whatever the other commands of its pipeline answer.
func TestAWaitBesideANilAnswer(t *testing.T) {
	overBoth(t, func(t *testing.T, program string) {
		_, err := sim.Run(sim.Config{RedisServer: program, RedisLag: time.Minute}, func(w *sim.World) error {
			w.Node("n", func(p *sim.Process) {
				ctx := p.Context()
				_, err := p.Redis().Pipelined(ctx, func(q redis.Pipeliner) error {
					q.Set(ctx, "k", "v", 0)
					q.Get(ctx, "none")
					q.Do(ctx, "wait", 1, 0)
					return nil
				})
				assert.ErrorIs(t, err, redis.Nil)
			}).Start()
			w.At(time.Second, "fail over", sim.Redis, func() { w.FailOverRedis(time.Minute) })
			w.Step(time.Minute, nil)
			assert.Equal(t, map[string]string{"": "v"}, w.Redis()["k"])
			return w.CheckTruth()
		})
		require.NoError(t, err)
	})
}

// A transaction that is never sent, as its connection has been lost since it began to WATCH, changes nothing: no TTL counts anew.
func TestATransactionThatIsNotSent(t *testing.T) {
	overBoth(t, func(t *testing.T, program string) {
		_, err := sim.Run(sim.Config{RedisServer: program, RedisLag: time.Minute}, func(w *sim.World) error {
			w.Node("n", func(p *sim.Process) {
				ctx, c := p.Context(), p.Redis()
				c.Set(ctx, "k", "v", 30*time.Second)
				err := c.Watch(ctx, func(tx *redis.Tx) error {
					p.Clock().Sleep(20 * time.Second)
					_, err := tx.TxPipelined(ctx, func(q redis.Pipeliner) error {
						q.Set(ctx, "k", "w", time.Hour)
						return nil
					})
					return err
				}, "k")
				assert.Error(t, err)
			}).Start()
			w.At(10*time.Second, "fail over", sim.Redis, func() { w.FailOverRedis(0) })
			w.Step(25*time.Second, nil)
			assert.Equal(t, map[string]string{"": "v"}, w.Redis()["k"])
			w.Step(35*time.Second, nil)
			assert.Empty(t, w.Redis()["k"])
			return w.CheckTruth()
		})
		require.NoError(t, err)
	})
}
