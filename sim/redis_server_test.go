package sim_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/sim"
)

// redisServer names the redis-server that is installed. CI sets WAVETANK_REQUIRE_REDIS, so that no test leaves itself out.
func redisServer(t testing.TB) string {
	const program = "redis-server"
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("WAVETANK_REQUIRE_REDIS") != "" {
			t.Fatalf("%v, and $WAVETANK_REQUIRE_REDIS allows no omission", err)
		}
		t.Skip("LEFT OUT: redis-server is not installed")
	}
	return program
}

// overBoth runs a test over miniredis and over a redis-server.
func overBoth(t *testing.T, test func(t *testing.T, redisServer string)) {
	t.Run("miniredis", func(t *testing.T) { test(t, "") })
	t.Run("redis-server", func(t *testing.T) { test(t, redisServer(t)) })
}

// Whatever a process asks of Redis, a redis-server answers as miniredis does, and every event is the same.
func TestARedisServerIsMiniredis(t *testing.T) {
	program := redisServer(t)
	rapid.Check(t, func(t *rapid.T) {
		calls := rapid.SliceOfN(anyCall, 1, 25).Draw(t, "calls")
		mini, miniTrace := askAll(t, "", calls, nil)
		server, serverTrace := askAll(t, program, calls, nil)
		require.Equal(t, strings.Join(mini, "\n"), strings.Join(server, "\n"))
		line, a, b, err := sim.FirstDifference(strings.NewReader(miniTrace), strings.NewReader(serverTrace))
		require.NoError(t, err)
		require.Zero(t, line, "miniredis: %s\nredis-server: %s", a, b)
	})
}

// And whenever it dies, it loads from its files what the model of miniredis says.
func TestARedisServerComesBackAsMiniredisDoes(t *testing.T) {
	program := redisServer(t)
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue { // each starts a server, some twice
		require.NoError(t, checks.Value.Set("30"))
		t.Cleanup(func() { _ = checks.Value.Set(checks.DefValue) })
	}
	rapid.Check(t, func(t *rapid.T) {
		calls := rapid.SliceOfN(anyCall, 1, 25).Draw(t, "calls")
		deaths := &redisDeaths{disk: rapid.SampledFrom([]string{sim.DiskAlways, sim.DiskEverySec, sim.DiskNo, sim.DiskRDB}).Draw(t, "disk")}
		for range rapid.IntRange(1, 3).Draw(t, "deaths") {
			deaths.at = append(deaths.at, time.Duration(rapid.IntRange(1, 60_000).Draw(t, "at"))*time.Millisecond)
		}
		deaths.die = rapid.SampledFrom([]func(*sim.World){(*sim.World).KillRedis, func(w *sim.World) { w.LosePowerRedis(0) },
			func(w *sim.World) { w.LosePowerRedis(3 * time.Second) }, func(w *sim.World) { w.FailOverRedis(10 * time.Second); w.LosePowerRedis(0) }}).Draw(t, "die")
		mini, miniTrace := askAll(t, "", calls, deaths)
		server, serverTrace := askAll(t, program, calls, deaths)
		require.Equal(t, strings.Join(mini, "\n"), strings.Join(server, "\n"))
		line, a, b, err := sim.FirstDifference(strings.NewReader(miniTrace), strings.NewReader(serverTrace))
		require.NoError(t, err)
		require.Zero(t, line, "miniredis: %s\nredis-server: %s", a, b)
	})
}

// redisDeaths say how often Redis dies, and how.
type redisDeaths struct {
	disk string
	at   []time.Duration
	die  func(*sim.World)
}

// redisCall is one or several commands, and how long the process waits before.
type redisCall struct {
	wait     time.Duration
	commands [][]any
	watched  string // a key that is WATCHed, and read, before the commands go as a transaction; empty is none
	between  []any  // what another client asks meanwhile
	tx       bool
	late     time.Duration // the commands arrive so much later, and the caller is told of a timeout
}

func (c redisCall) String() string {
	return fmt.Sprintf("wait %v, watch %q, between %q, tx %v, late %v: %q", c.wait, c.watched, c.between, c.tx, c.late, c.commands)
}

var (
	anyKey     = rapid.SampledFrom([]string{"s1", "s2", "h1", "z1", "l1", "set1"})
	anyField   = rapid.SampledFrom([]string{"a", "b", "c"})
	anyNumber  = rapid.SampledFrom([]int{1, 2, 30, 1000, 2500})
	anyCommand = rapid.Custom(func(t *rapid.T) []any { return commandOn(t, anyKey.Draw(t, "key")) })
	anyCall    = rapid.Custom(func(t *rapid.T) redisCall {
		c := redisCall{
			wait:     rapid.SampledFrom([]time.Duration{0, time.Millisecond, 700 * time.Millisecond, 2 * time.Second, 29 * time.Second}).Draw(t, "wait"),
			commands: rapid.SliceOfN(anyCommand, 1, 4).Draw(t, "commands"),
			tx:       rapid.Bool().Draw(t, "tx"),
		}
		if rapid.IntRange(0, 4).Draw(t, "is late") == 0 {
			c.late = rapid.SampledFrom([]time.Duration{500 * time.Millisecond, 3 * time.Second, 40 * time.Second}).Draw(t, "late")
		} else if rapid.Bool().Draw(t, "watches") {
			c.watched = anyKey.Draw(t, "watched")
			c.between = rapid.Custom(func(t *rapid.T) []any { return commandOn(t, c.watched) }).
				Filter(func(args []any) bool { return !idle[args[0].(string)] }).Draw(t, "between")
		}
		return c
	})
)

// idle has commands that miniredis takes for writes when they change nothing.
var idle = map[string]bool{"setbit": true, "geoadd": true, "smove": true}

// commandOn draws a command, most often one for the type of what is under the key.
func commandOn(t *rapid.T, key string) []any {
	all := commandsOf(key, anyField.Draw(t, "field"), anyNumber.Draw(t, "n"))
	if prefix := typed[key]; prefix != "" && rapid.IntRange(0, 3).Draw(t, "of its type") > 0 {
		all = slices.DeleteFunc(all, func(args []any) bool { return !strings.HasPrefix(args[0].(string), prefix) || args[1] != key })
	}
	return rapid.SampledFrom(all).Draw(t, "command")
}

// typed has what commands begin with that are for what is under a key.
var typed = map[string]string{"h1": "h", "z1": "z", "l1": "l", "set1": "s"}

// commandsOf are commands that miniredis and a redis-server answer alike.
func commandsOf(key, field string, n int) [][]any {
	return [][]any{
		{"set", key, field}, {"set", key, field, "ex", n}, {"set", key, field, "px", n}, {"set", key, field, "nx"}, {"set", key, field, "nx", "px", 1500},
		{"set", key, field, "xx", "keepttl"}, {"get", key}, {"getdel", key}, {"setex", key, 30, field}, {"psetex", key, 2500, field},
		{"incr", key}, {"incrby", key, 5}, {"append", key, field}, {"strlen", key}, {"mget", key, "s1"}, {"mset", key, field, "s2", "x"}, {"setnx", key, field},
		{"expire", key, n}, {"pexpire", key, n}, {"expire", key, 0}, {"pexpire", key, -1}, {"expire", key, 30, "nx"}, {"expire", key, 60, "gt"}, {"expire", key, 40, "xx"}, {"persist", key}, {"pttl", key},
		{"hset", key, field, n}, {"hmset", key, field, n}, {"hsetnx", key, field, "1"}, {"hget", key, field}, {"hmget", key, "a", "b"}, {"hdel", key, field}, {"hincrby", key, field, 2}, {"hlen", key}, {"hexists", key, field},
		{"zadd", key, 1.5, field}, {"zadd", key, "nx", 2, field}, {"zadd", key, "gt", 3, field}, {"zincrby", key, 1, field}, {"zrem", key, field}, {"zscore", key, field}, {"zcard", key}, {"zrange", key, 0, -1, "withscores"}, {"zrangebyscore", key, "-inf", 2}, {"zremrangebyscore", key, 0, 2}, {"zpopmin", key},
		{"lpush", key, field}, {"rpush", key, field, "x"}, {"lpop", key}, {"rpop", key}, {"lrange", key, 0, -1}, {"ltrim", key, 0, 1}, {"lrem", key, 0, field}, {"llen", key},
		{"sadd", key, field, "x"}, {"srem", key, field}, {"smembers", key}, {"sismember", key, field}, {"scard", key},
		{"rename", key, "s1"}, {"renamenx", key, "h1"}, {"msetnx", key, field, "s2", "y"}, {"rpoplpush", key, "l2"}, {"lmove", "l2", key, "left", "right"}, {"smove", key, "set1", field},
		{"del", key}, {"unlink", key, "s1"}, {"exists", key, "h1"}, {"type", key}, {"keys", "s*"}, {"scan", 0, "match", "*1"}, {"dbsize"},
		{"eval", "return redis.call('pexpire', KEYS[1], ARGV[1])", 1, key, 700}, {"eval", "redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2]) return redis.call('pttl', KEYS[1])", 1, key, field, 900},
		{"eval", "return {#ARGV, ARGV[1], KEYS[1]}", 1, key, field},
		{"touch", key, "s1"}, {"getrange", key, 0, 1}, {"getbit", key, 5}, {"bitcount", key}, {"bitpos", key, 1}, {"getset", key, field}, {"setrange", key, 1, field}, {"setbit", key, 5, 1},
		{"incrbyfloat", key, 0.5}, {"decr", key}, {"decrby", key, 3}, {"lpushx", key, field}, {"rpushx", key, field}, {"lset", key, 0, field}, {"linsert", key, "before", field, "x"}, {"lindex", key, 0}, {"lpos", key, field},
		{"hstrlen", key, field}, {"hincrbyfloat", key, field, 2}, {"smismember", key, "a", "b"}, {"sinter", key, "set1"}, {"sunion", key, "set1"}, {"sdiff", key, "set1"}, {"sintercard", 2, key, "set1"},
		{"zmscore", key, "a", "b"}, {"zcount", key, 1, 2}, {"zrank", key, field}, {"zrevrank", key, field}, {"zrevrange", key, 0, -1}, {"zrevrangebyscore", key, 3, 1}, {"zpopmax", key}, {"zremrangebyrank", key, 0, 0},
		{"zinter", 2, key, "z1"}, {"zunion", 2, key, "z1"}, {"getex", "s1"}, {"expireat", key, 4_000_000_000}, {"pexpireat", key, 4_000_000_000_000}, {"set", key, field, "exat", 4_000_000_000}, {"expireat", key, 1000}, {"expire", key, 100 * 24 * 3600}, {"expiretime", "s9"}, {"pexpiretime", "s9"}, {"ping"}, {"echo", field},
		{"zadd", "lex", 0, field}, {"zlexcount", "lex", "-", "+"}, {"zrangebylex", "lex", "-", "+"}, {"zrevrangebylex", "lex", "+", "-"}, {"zremrangebylex", "lex", "[a", "[b"},
		{"geoadd", key, 13.36, 38.11, field},
		{"set", key, true, "px", 24 * time.Hour / time.Millisecond}, {"pexpire", key, (99 * 365 * 24 * time.Hour).Milliseconds()},
		{"set", "string", field, "px", 1500}, {"getex", "string", "persist"}, {"getex", "string", "ex", n}, {"getex", "string", "pxat", 4_000_000_000_000},
		{"eval", "return redis.call('pexpireat', KEYS[1], ARGV[1])", 1, key, "4000000000000"}, {"eval", "return redis.call('expire', KEYS[1], 100 * 24 * 3600)", 1, key},
		{"eval", "redis.call('set', KEYS[1], ARGV[1], 'PXAT', 4e12) return redis.call('getex', KEYS[1], 'EX', 50)", 1, key, field}, {"eval", "return redis.call('setex', KEYS[1], ARGV[1], ARGV[2])", 1, key, n, field},
		{"eval", "return redis.call('expireat', KEYS[1], 1000)", 1, key}, {"script", "load", "return 7"}, {"script", "exists", "59b6ab2fbe0ee4b25733de0f62e6cda4899ef8e9"},
	}
}

// notDrawn are the commands that a world runs and [commandsOf] leaves out.
const notDrawn = `multi exec watch evalsha info time wait
	ttl hgetall hkeys hvals hscan geopos geodist geosearch
	spop srandmember hrandfield zrandmember sscan zscan
	sunionstore sinterstore sdiffstore zunionstore zinterstore zdiffstore zrangestore zdiff geohash geosearchstore
	bitfield bitfield_ro bitop copy lcs lmpop zmpop eval_ro evalsha_ro pfadd pfcount pfmerge
	xadd xdel xtrim xlen xrange xrevrange xread`

// Every command that a world runs is compared, but for those that are named, each with what it is that differs in README.md.
func TestEveryCommandIsCompared(t *testing.T) {
	named := map[string]bool{}
	for _, name := range strings.Fields(notDrawn) {
		named[name] = true
	}
	for _, args := range commandsOf("k", "a", 1) {
		named[args[0].(string)] = true
	}
	for _, name := range sim.Commands() {
		assert.True(t, named[name], name)
		delete(named, name)
	}
	assert.Empty(t, named, "no commands")
}

// askAll makes the calls one after the other in a world, and returns what was answered, and the trace.
func askAll(t *rapid.T, program string, calls []redisCall, deaths *redisDeaths) (answers []string, trace string) {
	var out strings.Builder
	say := func(cmds []redis.Cmder, err error) {
		for _, cmd := range cmds {
			text := fmt.Sprint(cmd.(*redis.Cmd).Val())
			if cmd.Err() != nil {
				text = kindOfError(cmd.Err())
			}
			answers = append(answers, fmt.Sprintf("%v = %s", cmd.Args()[0], text))
		}
		if errors.Is(err, redis.TxFailedErr) {
			answers = append(answers, err.Error())
		}
	}
	var late time.Duration
	cfg := sim.Config{Seed: 1, RedisServer: program, Trace: &out, Intercept: func(_ context.Context, op *sim.Op, apply func() error) error {
		if late > 0 && op.Late(late, apply, nil) {
			return os.ErrDeadlineExceeded
		}
		return apply()
	}}
	if deaths != nil {
		cfg.RedisDisk, cfg.RedisLag = deaths.disk, 10*time.Second
	}
	_, err := sim.Run(cfg, func(w *sim.World) error {
		if deaths != nil {
			for _, at := range deaths.at {
				w.At(at, "die", sim.Redis, func() { deaths.die(w) })
			}
		}
		w.Node("n", func(p *sim.Process) {
			ctx, c := p.Context(), p.Redis()
			for _, call := range calls {
				late = 0
				p.Clock().Sleep(call.wait)
				late = call.late
				ask := func(q redis.Pipeliner) error {
					for _, args := range call.commands {
						q.Do(ctx, args...)
					}
					return nil
				}
				switch {
				case call.watched != "":
					_ = c.Watch(ctx, func(tx *redis.Tx) error {
						say([]redis.Cmder{tx.Do(ctx, "type", call.watched)}, nil)
						say([]redis.Cmder{c.Do(ctx, call.between...)}, nil)
						say(tx.TxPipelined(ctx, ask))
						return nil
					}, call.watched)
				case call.tx:
					say(c.TxPipelined(ctx, ask))
				default:
					say(c.Pipelined(ctx, ask))
				}
			}
		}).Start()
		w.Step(15*time.Minute, nil)
		return w.CheckTruth()
	})
	require.NoError(t, err)
	return answers, out.String()
}

// kindOfError is an error of Redis without its text, in which the two differ.
func kindOfError(err error) string {
	if errors.Is(err, redis.Nil) {
		return "nil"
	}
	return "an error"
}

// What Redis says of the time is what the world's clock says.
func TestARedisServerGoesByTheWorldsClock(t *testing.T) {
	_, err := sim.Run(sim.Config{Seed: 1, RedisServer: redisServer(t)}, func(w *sim.World) error {
		w.Node("n", func(p *sim.Process) {
			ctx, c := p.Context(), p.Redis()
			p.Clock().Sleep(90*time.Minute + 7*time.Millisecond)
			assert.WithinDuration(t, p.Clock().Now(), c.Time(ctx).Val(), time.Second)
			seconds, err := c.Eval(ctx, "return redis.call('TIME')[1]", nil).Int64()
			assert.NoError(t, err)
			assert.InDelta(t, p.Clock().Now().Unix(), seconds, 1)
			c.Set(ctx, "k", 1, 0)
			c.ExpireAt(ctx, "k", p.Clock().Now().Add(time.Hour))
			assert.InDelta(t, time.Hour, c.PTTL(ctx, "k").Val(), float64(2*time.Second))
			assert.WithinDuration(t, p.Clock().Now().Add(time.Hour), time.UnixMilli(c.PExpireTime(ctx, "k").Val().Milliseconds()), 2*time.Second)
			load := c.ScriptLoad(ctx, "return redis.call('PTTL', KEYS[1])")
			left, err := c.EvalSha(ctx, load.Val(), []string{"k"}).Int64()
			assert.NoError(t, err)
			assert.InDelta(t, time.Hour.Milliseconds(), left, 2000)
			assert.Equal(t, redis.NewScript("return redis.call('PTTL', KEYS[1])").Hash(), load.Val())
		}).Start()
		w.Step(3*time.Hour, nil)
		return w.CheckTruth()
	})
	require.NoError(t, err)
}

// A script may not call what a world does not run.
func TestWhatAScriptMayNotCall(t *testing.T) {
	_, err := sim.Run(sim.Config{Seed: 1, RedisServer: redisServer(t)}, func(w *sim.World) error {
		w.Node("n", func(p *sim.Process) {
			for _, call := range []string{"'SPOP', 'set'", "'LASTSAVE'", "'RANDOMKEY'", "'SSCAN', 'set', 0", "'FLUSHALL'", "'INFO'", "'COPY', 'a', 'b'", "'FCALL', 'f', 0"} {
				for _, by := range []string{"call", "pcall"} {
					err := p.Redis().Eval(p.Context(), "return redis."+by+"("+call+")", nil).Err()
					assert.ErrorContains(t, err, "ERR a world cannot run this Redis command", call)
				}
			}
		}).Start()
		w.Step(time.Minute, nil)
		return w.CheckTruth()
	})
	require.NoError(t, err)
}

// However long the commands and the answers are that go over a connection at once, none waits for another.
func TestLongCommandsAndAnswers(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	overBoth(t, func(t *testing.T, program string) {
		for _, tx := range []bool{false, true} {
			_, err := sim.Run(sim.Config{Seed: 1, RedisServer: program}, func(w *sim.World) error {
				var answers []redis.Cmder
				w.Node("n", func(p *sim.Process) {
					ctx, c := p.Context(), p.Redis()
					for range 2 { // on one connection
						ask := func(q redis.Pipeliner) error {
							q.Set(ctx, "long", long, 0)
							q.Get(ctx, "long")
							for i := range 500 {
								q.HSet(ctx, "hash", i, i)
							}
							q.Get(ctx, "long")
							return nil
						}
						if tx {
							answers, _ = c.TxPipelined(ctx, ask)
						} else {
							answers, _ = c.Pipelined(ctx, ask)
						}
					}
				}).Start()
				w.Step(time.Minute, nil)
				require.Len(t, answers, 503)
				assert.Equal(t, long, answers[1].(*redis.StringCmd).Val())
				assert.Equal(t, long, answers[502].(*redis.StringCmd).Val())
				assert.Len(t, w.Redis()["hash"], 500)
				return w.CheckTruth()
			})
			require.NoError(t, err)
		}
	})
}
