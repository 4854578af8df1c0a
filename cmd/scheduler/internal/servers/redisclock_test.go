package servers

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/proto"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// clocked starts a Redis whose clock is the embedded one, with no port of its own.
func clocked(t require.TestingT) (*miniredis.Miniredis, *redisClock) {
	m := miniredis.NewMiniRedis()
	first, err := m.Dial() // starts it
	require.NoError(t, err)
	require.NoError(t, first.Close())
	return m, newRedisClock(m)
}

func connect(t require.TestingT, m *miniredis.Miniredis) *proto.Client {
	conn, err := m.Dial()
	require.NoError(t, err)
	return proto.NewClient(conn)
}

// asked is a command of one of two clients, and how long after the one before it.
type asked struct {
	client int
	after  time.Duration
	cmd    []string
}

// The embedded Redis answers every command as one that counts down every TTL before every command.
func TestTheEmbeddedRedisKeepsTTLs(t *testing.T) {
	const script = `local left = redis.call("PTTL", KEYS[1]); if left > 0 then redis.call("PEXPIRE", KEYS[1], left + ARGV[1]) end; return left`
	began := time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC) // as every bubble does
	key := rapid.SampledFrom([]string{"a", "b", "c"})
	number := rapid.IntRange(1, 4000)
	commands := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) asked {
		k, ms := key.Draw(t, "key"), number.Draw(t, "ms")
		n, at := strconv.Itoa(ms), strconv.FormatInt(began.UnixMilli()+int64(10*ms), 10)
		return asked{rapid.IntRange(0, 1).Draw(t, "client"), rapid.SampledFrom([]time.Duration{0, 0, 1, 700, 2500}).Draw(t, "after") * time.Millisecond, rapid.SampledFrom([][]string{
			{"SET", k, "v"}, {"SET", k, "v", "PX", n}, {"SET", k, "v", "EX", "2"}, {"SET", k, "v", "NX", "PX", n}, {"SET", k, "w", "KEEPTTL"}, {"SETEX", k, "3", "v"},
			{"PEXPIRE", k, n}, {"PEXPIRE", k, n, "NX"}, {"PEXPIRE", k, n, "XX"}, {"PEXPIRE", k, n, "GT"}, {"PEXPIRE", k, n, "LT"}, {"EXPIRE", k, "1"},
			{"PEXPIREAT", k, at}, {"PERSIST", k}, {"GETEX", k, "PX", n}, {"EVAL", script, "1", k, n},
			{"GET", k}, {"EXISTS", k}, {"PTTL", k}, {"PTTL", k}, {"TTL", k}, {"PEXPIRETIME", k}, {"KEYS", "*"}, {"TIME"},
			{"DEL", k}, {"RENAME", k, key.Draw(t, "to")}, {"COPY", k, key.Draw(t, "to")}, {"APPEND", k, "x"},
			{"WATCH", k}, {"UNWATCH"}, {"MULTI"}, {"EXEC"}, {"EXEC"}, {"DISCARD"},
		}).Draw(t, "command")}
	}), 1, 60)
	rapid.Check(t, func(rt *rapid.T) {
		drawn, wrong := commands.Draw(rt, "commands"), ""
		synctest.Test(t, func(t *testing.T) {
			ours, _ := clocked(t)
			reference := miniredis.NewMiniRedis()
			reference.ClockTTL(true)
			defer ours.Close()
			defer reference.Close()
			got, want := [2]*proto.Client{connect(t, ours), connect(t, ours)}, [2]*proto.Client{connect(t, reference), connect(t, reference)}
			for _, a := range drawn {
				time.Sleep(a.after)
				right, err := want[a.client].Do(a.cmd...)
				require.NoError(t, err)
				said, err := got[a.client].Do(a.cmd...)
				require.NoError(t, err)
				if said != right && wrong == "" {
					wrong = fmt.Sprintf("%q: %q, but it should be %q", a.cmd, said, right)
				}
			}
			for i := range got {
				_, _ = got[i].Close(), want[i].Close()
			}
		})
		require.Empty(rt, wrong)
	})
}

// What a command costs does not grow with what Redis holds.
func TestACommandOfTheEmbeddedRedisCostsTheSameHoweverManyKeysItHolds(t *testing.T) {
	bytes := func(keys int) uint64 {
		m, clock := clocked(t)
		defer m.Close()
		for i := range keys {
			m.HSet(fmt.Sprint("job:", i), "state", "PENDING")
			name := fmt.Sprint("done:", i)
			require.NoError(t, m.Set(name, ""))
			m.SetTTL(name, time.Hour)
			clock.note(name, clock.now())
		}
		c := connect(t, m)
		defer func() { _ = c.Close() }()
		jobs := func() {
			for range 200 {
				for _, cmd := range [][]string{{"SET", "lock", "mine", "NX", "PX", "30000"}, {"HSET", "job:1", "state", "RUNNING"}, {"HGETALL", "job:1"}, {"DEL", "lock"}} {
					_, err := c.Do(cmd...)
					require.NoError(t, err)
				}
			}
		}
		jobs()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		jobs()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := bytes(100), bytes(20_000)
	assert.Less(t, many, 2*few, "bytes allocated beside 20,000 keys, and beside 100")
}

// What the embedded Redis could not expire, it refuses, and says what to use instead.
func TestTheEmbeddedRedisRefusesWhatItCannotExpire(t *testing.T) {
	m, _ := clocked(t)
	defer m.Close()
	c := connect(t, m)
	for _, cmd := range [][]string{{"HSET", "h", "f", "v"}, {"SELECT", "0"}} {
		_, err := c.Do(cmd...)
		require.NoError(t, err)
	}
	for _, cmd := range [][]string{{"HEXPIRE", "h", "1", "FIELDS", "1", "f"}, {"SELECT", "1"}, {"EVAL", `return redis.call("MOVE", KEYS[1], 1)`, "1", "h"}} {
		said, err := c.Do(cmd...)
		require.NoError(t, err)
		_, err = proto.ReadError(said)
		require.NoError(t, err, said)
		assert.Contains(t, said, "run redis-server, and give it with --redis")
	}
}
