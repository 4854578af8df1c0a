package sim_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// deaths are ways for Redis to die, and how long before that what it then holds was written.
var deaths = map[string]struct {
	disk string
	die  func(*sim.World)
	at   time.Duration
	cut  time.Duration
}{
	"killed":                         {sim.DiskNo, (*sim.World).KillRedis, 1300 * time.Millisecond, 1300 * time.Millisecond},
	"powerless, always":              {sim.DiskAlways, func(w *sim.World) { w.LosePowerRedis(0) }, 1300 * time.Millisecond, 1300 * time.Millisecond},
	"powerless, everysec":            {sim.DiskEverySec, func(w *sim.World) { w.LosePowerRedis(0) }, 1300 * time.Millisecond, time.Second},
	"powerless, everysec, by 100ms":  {sim.DiskEverySec, func(w *sim.World) { w.LosePowerRedis(100 * time.Millisecond) }, 1300 * time.Millisecond, 1200 * time.Millisecond},
	"powerless, no":                  {sim.DiskNo, func(w *sim.World) { w.LosePowerRedis(0) }, 30*time.Second + 150*time.Millisecond, 30 * time.Second},
	"powerless, no, at once":         {sim.DiskNo, func(w *sim.World) { w.LosePowerRedis(0) }, 700 * time.Millisecond, 0},
	"killed, and then powerless, no": {sim.DiskNo, func(w *sim.World) { w.KillRedis(); w.LosePowerRedis(0) }, 700 * time.Millisecond, 0},
	"killed, without a snapshot":     {sim.DiskRDB, (*sim.World).KillRedis, 700 * time.Millisecond, 0},
}

func TestAnUnknownDiskIsRefused(t *testing.T) {
	_, err := sim.Run(sim.Config{RedisDisk: "everySec"}, func(*sim.World) error { return nil })
	assert.EqualError(t, err, `sim: Config.RedisDisk is "everySec"; give one of ["always" "everysec" "no" "rdb"]`)
}

// Redis comes back with what was on its disk, as a redis-server loads it; and everything goes on from there.
func TestRedisDies(t *testing.T) {
	for name, death := range deaths {
		t.Run(name, func(t *testing.T) {
			var first []byte
			overBoth(t, func(t *testing.T, program string) {
				for seed := range uint64(2) {
					var trace bytes.Buffer
					var then, now map[string]map[string]string
					_, err := sim.Run(sim.Config{Seed: seed, RedisServer: program, RedisDisk: death.disk, Trace: &trace}, func(w *sim.World) error {
						w.Node("writer", scribble).Start()
						w.At(death.cut+1, "look", sim.Redis, func() { then = w.Redis() })
						w.At(death.at, "die", sim.Redis, func() { death.die(w); now = w.Redis() })
						w.Step(death.at, func() bool { return now != nil })
						if err := w.CheckTruth(); err != nil {
							return err
						}
						w.Step(death.at+300*time.Millisecond, nil)
						return w.CheckTruth()
					})
					require.NoError(t, err)
					for key, fields := range now {
						assert.Equal(t, then[key], fields, key)
					}
					for key, fields := range then {
						if _, expired := now[key]; !expired && key[0] != 'z' && key[0] != 'l' && death.cut < death.at {
							continue
						}
						assert.Equal(t, fields, now[key], key)
					}
					if seed == 0 && first == nil {
						first = trace.Bytes()
					} else if seed == 0 {
						line, a, b, err := sim.FirstDifference(bytes.NewReader(first), &trace)
						require.NoError(t, err)
						require.Zero(t, line, "miniredis: %s\nredis-server: %s", a, b)
					}
				}
			})
		})
	}
}

// A snapshot is taken when one of the save points is reached.
func TestRedisTakesSnapshots(t *testing.T) {
	overBoth(t, func(t *testing.T, program string) {
		_, err := sim.Run(sim.Config{RedisServer: program, RedisDisk: sim.DiskRDB}, func(w *sim.World) error {
			w.Node("writer", func(p *sim.Process) {
				for p.Context().Err() == nil {
					p.Redis().Incr(p.Context(), "count")
					p.Clock().Sleep(time.Second)
				}
			}).Start()
			w.Step(7*time.Minute, nil)
			w.KillRedis()
			assert.Equal(t, "300", w.Redis()["count"][""], "after five minutes and a hundred changes")
			return nil
		})
		require.NoError(t, err)
	})
}

// Connections end with Redis, and with them what they WATCH; those in the pool are not taken again. Scripts are forgotten.
func TestConnectionsAndScriptsEndWithRedis(t *testing.T) {
	script := redis.NewScript(`return redis.call("INCR", KEYS[1])`)
	overBoth(t, func(t *testing.T, program string) {
		var errs []error
		_, err := sim.Run(sim.Config{RedisServer: program, RedisDisk: sim.DiskAlways}, func(w *sim.World) error {
			w.Node("writer", func(p *sim.Process) {
				ctx, rdb := p.Context(), p.Redis()
				errs = append(errs, script.Run(ctx, rdb, []string{"n"}).Err(), rdb.EvalSha(ctx, script.Hash(), []string{"n"}).Err())
				errs = append(errs, rdb.Watch(ctx, func(tx *redis.Tx) error {
					tx.Get(ctx, "n")
					p.Clock().Sleep(2 * time.Second)
					_, err := tx.TxPipelined(ctx, func(q redis.Pipeliner) error { q.Set(ctx, "n", 7, 0); return nil })
					return err
				}, "n"))
				errs = append(errs, rdb.EvalSha(ctx, script.Hash(), []string{"n"}).Err(), rdb.Incr(ctx, "n").Err())
			}).Start()
			w.At(time.Second, "kill", sim.Redis, w.KillRedis)
			w.Step(time.Minute, nil)
			assert.Equal(t, "3", w.Redis()["n"][""])
			return w.CheckTruth()
		})
		require.NoError(t, err)
		require.Len(t, errs, 5)
		assert.NoError(t, errs[0])
		assert.NoError(t, errs[1])
		assert.ErrorContains(t, errs[2], "EOF")
		assert.ErrorContains(t, errs[3], "NOSCRIPT")
		assert.NoError(t, errs[4])
	})
}
