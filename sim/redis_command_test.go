package sim_test

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// What miniredis cannot do as it should runs over a redis-server, and the world sees what it changes.
func TestCommandsOfARedisServerAlone(t *testing.T) {
	_, err := sim.Run(sim.Config{Seed: 1, RedisServer: redisServer(t)}, func(w *sim.World) error {
		w.Node("n", func(p *sim.Process) {
			ctx, c := p.Context(), p.Redis()
			c.SAdd(ctx, "s", "a", "b")
			c.ZAdd(ctx, "z", redis.Z{Score: 1, Member: "a"}, redis.Z{Score: 2, Member: "b"})
			c.RPush(ctx, "list", 1, 2, 3)
			c.MSet(ctx, "x", "abc", "y", "abd")
			for _, args := range [][]any{
				{"sunionstore", "union", "s", "s"}, {"sinterstore", "inter", "s", "s"}, {"sdiffstore", "diff", "s", "none"}, {"sunionstore", "union", "none"},
				{"zunionstore", "zunion", 2, "z", "s"}, {"zinterstore", "zinter", 2, "z", "s"}, {"zdiffstore", "zdiff", 2, "z", "none"}, {"zrangestore", "zrange", "z", 1, 1},
				{"copy", "x", "copied"}, {"bitop", "and", "bits", "x", "y"}, {"lmpop", 2, "none", "list", "left", "count", 2}, {"zmpop", 1, "zunion", "min"},
				{"pfadd", "hll", "a", "b"}, {"pfcount", "hll"}, {"del", "hll"},
			} {
				assert.NoError(t, c.Do(ctx, args...).Err(), "%v", args)
			}
			assert.Equal(t, "ab", c.Do(ctx, "lcs", "x", "y").Val())
			assert.Equal(t, "abc", c.EvalRO(ctx, "return redis.call('get', KEYS[1])", []string{"x"}).Val())
			assert.Error(t, c.EvalRO(ctx, "return redis.call('del', KEYS[1])", []string{"x"}).Err())
		}).Start()
		w.Step(time.Minute, nil)
		assert.Equal(t, map[string]map[string]string{
			"s": {"a": "", "b": ""}, "inter": {"a": "", "b": ""}, "diff": {"a": "", "b": ""}, "z": {"a": "1", "b": "2"},
			"zunion": {"b": "3"}, "zinter": {"a": "2", "b": "3"}, "zdiff": {"a": "1", "b": "2"}, "zrange": {"b": "2"},
			"x": {"": "abc"}, "y": {"": "abd"}, "copied": {"": "abc"}, "bits": {"": "ab`"}, "list": {"0": "3"},
		}, w.Redis())
		return w.CheckTruth()
	})
	require.NoError(t, err)
}

// A stream's IDs are of the world's time, in transactions and scripts, too; and a failover takes its last entries back.
func TestStreamsOfARedisServer(t *testing.T) {
	var trace strings.Builder
	_, err := sim.Run(sim.Config{Seed: 1, RedisServer: redisServer(t), RedisLag: time.Minute, Trace: &trace}, func(w *sim.World) error {
		w.Node("n", func(p *sim.Process) {
			ctx, c := p.Context(), p.Redis()
			add := func(values ...any) *redis.XAddArgs { return &redis.XAddArgs{Stream: "s", Values: values} }
			at := func() string { return fmt.Sprint(p.Clock().Now().UnixMilli()) }
			id := at()
			assert.Equal(t, id+"-0", c.XAdd(ctx, add("a b", "c\"d", "", "\n")).Val())
			answers, err := c.TxPipelined(ctx, func(q redis.Pipeliner) error {
				q.XAdd(ctx, add("*", "*"))
				q.Eval(ctx, "return redis.call('xadd', KEYS[1], 'nomkstream', 'maxlen', '~', 100, 'limit', 5, '*', '*', 2)", []string{"s"})
				return nil
			})
			assert.NoError(t, err)
			assert.Regexp(t, "^"+id[:len(id)-3], answers[0].(*redis.StringCmd).Val())
			assert.Regexp(t, "^"+id[:len(id)-3]+".*-2$", answers[1].(*redis.Cmd).Val())
			assert.EqualValues(t, 3, c.XLen(ctx, "s").Val())
			assert.NoError(t, c.XAdd(ctx, &redis.XAddArgs{Stream: "s", ID: "9999999999999-7", Values: []any{"x", 1}}).Err())
			assert.Equal(t, "9999999999999-8", c.XAdd(ctx, add("later", "than the last")).Val())
			c.XDel(ctx, "s", "9999999999999-7", "9999999999999-8")
			p.Clock().Sleep(30 * time.Second)
			c.Del(ctx, "s")
		}).Start()
		w.Step(20*time.Second, nil)
		before := w.Redis()["s"]
		assert.Equal(t, "9999999999999-8", before[""])
		assert.Len(t, before, 4)
		w.Step(40*time.Second, nil)
		assert.NotContains(t, w.Redis(), "s")
		w.At(50*time.Second, "fail over", sim.Redis, func() { w.FailOverRedis(25 * time.Second) })
		w.Step(time.Minute, nil)
		assert.Equal(t, before, w.Redis()["s"])
		return w.CheckTruth()
	})
	require.NoError(t, err)
	assert.Contains(t, trace.String(), `"value":"\"a b\" `, "what an entry holds")
}

// Lists of what sets have in common are the same each time, and over either.
func TestWhatSetsHaveInCommonIsSorted(t *testing.T) {
	overBoth(t, func(t *testing.T, program string) {
		_, err := sim.Run(sim.Config{Seed: 1, RedisServer: program}, func(w *sim.World) error {
			w.Node("n", func(p *sim.Process) {
				ctx, c := p.Context(), p.Redis()
				c.SAdd(ctx, "s", "d", "a", "c", "b", "f", "e", "g")
				want := []string{"a", "b", "c", "d", "e", "f", "g"}
				assert.Equal(t, want, c.SUnion(ctx, "s").Val())
				assert.Equal(t, want, c.SInter(ctx, "s", "s").Val())
				assert.Equal(t, want, c.SDiff(ctx, "s", "none").Val())
				assert.NoError(t, c.Set(ctx, "k", 1, 0).Err())
				assert.ErrorContains(t, c.SUnion(ctx, "s", "k").Err(), "WRONGTYPE")
			}).Start()
			w.Step(time.Minute, nil)
			return w.CheckTruth()
		})
		require.NoError(t, err)
	})
}

// Values go to Redis as go-redis writes them, and so they are in the trace.
func TestWhatGoRedisMakesOfValues(t *testing.T) {
	number, yes, day := 7, true, time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	keys := []any{true, false, 1e6, float32(0.5), 90 * time.Second, day, &number, &yes, &day, (*int)(nil), nil, []byte("b"), net.IPv4(10, 0, 0, 1), &url.URL{Scheme: "https", Host: "a.b"}, uint8(3)}
	var trace strings.Builder
	_, err := sim.Run(sim.Config{Trace: &trace}, func(w *sim.World) error {
		w.Node("n", func(p *sim.Process) {
			for _, key := range keys {
				assert.NoError(t, p.Redis().Do(p.Context(), "set", key, "x").Err(), "%T", key)
			}
		}).Start()
		w.Step(time.Minute, nil)
		for _, key := range []string{"1", "0", "1000000", "0.5", "90000000000", "2026-01-02T03:04:05.000000006Z", "7", "b", "https://a.b", "3", ""} {
			assert.Contains(t, w.Redis(), key)
		}
		return w.CheckTruth()
	})
	require.NoError(t, err)
	assert.NotContains(t, trace.String(), "0xc0", "an address")
}

// A field that a refused command names is not one of what is there.
func TestAFieldOfWhatHasNone(t *testing.T) {
	overBoth(t, func(t *testing.T, program string) {
		_, err := sim.Run(sim.Config{RedisServer: program}, func(w *sim.World) error {
			w.Node("n", func(p *sim.Process) {
				ctx, c := p.Context(), p.Redis()
				c.Set(ctx, "s", "text", 0)
				c.RPush(ctx, "l", "item")
				assert.ErrorContains(t, c.HSet(ctx, "s", "", "x").Err(), "WRONGTYPE")
				assert.ErrorContains(t, c.HSet(ctx, "l", "0", "x").Err(), "WRONGTYPE")
				c.ZAdd(ctx, "z", redis.Z{Score: 1, Member: "a"})
				_, err := c.Pipelined(ctx, func(q redis.Pipeliner) error {
					q.HSet(ctx, "z", "a", 1)
					q.SRem(ctx, "z", "a")
					return nil
				})
				assert.ErrorContains(t, err, "WRONGTYPE")
			}).Start()
			w.Step(time.Minute, nil)
			assert.Equal(t, map[string]string{"": "text"}, w.RedisKey("s"))
			assert.Equal(t, map[string]string{"0": "item"}, w.RedisKey("l"))
			return w.CheckTruth()
		})
		require.NoError(t, err)
	})
}

// WAIT counts the replica, whatever was written; a script is loaded in its turn; and no world counts to a thousand years.
func TestWhatGoesInThePlaceOfACommand(t *testing.T) {
	overBoth(t, func(t *testing.T, program string) {
		_, err := sim.Run(sim.Config{RedisServer: program}, func(w *sim.World) error {
			w.Node("n", func(p *sim.Process) {
				ctx, c := p.Context(), p.Redis()
				answers, err := c.Pipelined(ctx, func(q redis.Pipeliner) error {
					q.Set(ctx, "k", 1, 0)
					q.Del(ctx, "k")
					q.Do(ctx, "wait", 1, 0)
					return nil
				})
				assert.NoError(t, err)
				assert.EqualValues(t, 1, answers[2].(*redis.Cmd).Val())

				const seven, hash = "return 7", "59b6ab2fbe0ee4b25733de0f62e6cda4899ef8e9"
				answers, err = c.TxPipelined(ctx, func(q redis.Pipeliner) error {
					q.ScriptExists(ctx, hash)
					q.ScriptLoad(ctx, seven)
					q.ScriptExists(ctx, hash)
					q.EvalSha(ctx, hash, nil)
					return nil
				})
				assert.NoError(t, err)
				assert.Equal(t, []bool{false}, answers[0].(*redis.BoolSliceCmd).Val())
				assert.Equal(t, hash, answers[1].(*redis.StringCmd).Val())
				assert.Equal(t, []bool{true}, answers[2].(*redis.BoolSliceCmd).Val())
				assert.EqualValues(t, 7, answers[3].(*redis.Cmd).Val())

				assert.ErrorContains(t, c.Do(ctx, "eval", "return 1", 2, "k").Err(), "Number of keys")
				for _, args := range [][]any{
					{"pexpire", "k", 200 * 365 * 24 * time.Hour / time.Millisecond}, {"expire", "k", math.MaxInt64}, {"expire", "k", math.MinInt64},
					{"set", "k", 1, "ex", 1e11}, {"pexpireat", "k", math.MaxInt64}, {"getex", "k", "exat", 1e12},
				} {
					assert.ErrorContains(t, c.Do(ctx, args...).Err(), "a world cannot run this Redis command: "+args[0].(string)+" with a TTL of more than a hundred years", "%v", args)
				}
			}).Start()
			w.Step(time.Minute, nil)
			return w.CheckTruth()
		})
		require.NoError(t, err)
	})
}

// go-redis sends the fields of a map in Go's random order of maps.
func TestTheFieldsOfAMapAreInOrder(t *testing.T) {
	digests := map[string]int{}
	for range 10 {
		sum, err := sim.Run(sim.Config{Seed: 1}, func(w *sim.World) error {
			w.Node("n", func(p *sim.Process) {
				fields := map[string]any{"a": 1, "b": 2, "c": 3, "d": 4}
				assert.NoError(t, p.Redis().HSet(p.Context(), "hash", fields).Err())
				_, err := p.Redis().TxPipelined(p.Context(), func(pipe redis.Pipeliner) error {
					pipe.MSet(p.Context(), fields)
					pipe.HSet(p.Context(), "pairs", "z", 1, "a", 2, "z", 3) // the last of a field counts
					return nil
				})
				assert.NoError(t, err)
			}).Start()
			w.Step(time.Minute, nil)
			assert.Equal(t, map[string]string{"z": "3", "a": "2"}, w.Redis()["pairs"])
			return w.CheckTruth()
		})
		require.NoError(t, err)
		digests[sum.Digest]++
	}
	assert.Len(t, digests, 1)
}
