package faults_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/sim"
)

// For a while Redis refuses what it cannot do, in a transaction, too, and does the rest.
func TestRedisRefuses(t *testing.T) {
	var got []string
	in, events := world(t, []faults.Fault{{At: 2500 * time.Millisecond, Do: faults.Refusal, Node: faults.Redis, With: "oom", For: 2 * time.Second}}, func(w *sim.World, in *faults.Injector) {
		w.Node("n", func(p *sim.Process) {
			ctx, c := p.Context(), p.Redis()
			for range 6 {
				p.Clock().Sleep(time.Second)
				watched := c.Watch(ctx, func(tx *redis.Tx) error {
					_, err := tx.TxPipelined(ctx, func(q redis.Pipeliner) error { q.Del(ctx, "n"); return nil })
					return err
				}, "n")
				_, tx := c.TxPipelined(ctx, func(q redis.Pipeliner) error { q.Incr(ctx, "m"); q.Del(ctx, "n"); return nil })
				got = append(got, fmt.Sprint(c.Incr(ctx, "n").Err(), "; ", c.Del(ctx, "n").Err(), "; ", c.Exists(ctx, "m").Val(), "; ", tx, "; ", watched))
			}
		}).Start()
		w.Step(time.Minute, nil)
		assert.True(t, in.Quiet())
		assert.Equal(t, "4", w.Redis()["m"][""])
		assert.NoError(t, w.CheckTruth())
	})
	assert.Empty(t, in.Unfired())
	assert.Equal(t, 2*time.Second, in.Fired()[0].Until-in.Fired()[0].At)
	const abort = "EXECABORT Transaction discarded because of previous errors."
	does, refuses := "<nil>; <nil>; 1; <nil>; <nil>", "OOM command not allowed when used memory > 'maxmemory'.; <nil>; 1; "+abort+"; "+abort
	assert.Equal(t, []string{does, does, refuses, refuses, does, does}, got)
	refused := 0
	for _, e := range events {
		if e.Fault == "refusal" {
			refused++
		}
	}
	assert.Equal(t, 6, refused)
}

// A redis-server that is in such a state refuses the same, in the same words.
func TestARedisServerRefusesTheSame(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("WAVETANK_REQUIRE_REDIS") != "" {
			t.Fatalf("%v, and $WAVETANK_REQUIRE_REDIS allows no omission", err)
		}
		t.Skip("LEFT OUT: redis-server is not installed")
	}
	for with, state := range map[string][2]string{
		"oom":        {"config set maxmemory 1", "config set maxmemory 0"},
		"readonly":   {"replicaof 127.0.0.1 1", "replicaof no one"},
		"noreplicas": {"config set min-replicas-to-write 1", "config set min-replicas-to-write 0"},
	} {
		t.Run(with, func(t *testing.T) {
			model := refusedBy(t, faults.Fault{At: time.Second, Do: faults.Refusal, Node: faults.Redis, With: with, For: time.Hour}, "", "", "")
			server := refusedBy(t, faults.Fault{}, "redis-server", state[0], state[1])
			assert.Equal(t, server, model)
			assert.Contains(t, model, "hset: ")
		})
	}
}

// refusedBy says what is refused in a world of one fault, or over a server that begins and ends commands bring into a state and out of it.
func refusedBy(t *testing.T, f faults.Fault, program string, begins, ends string) (list string) {
	var armed []faults.Fault
	if f.Do != "" {
		armed = append(armed, f)
	}
	in := faults.NewInjector(armed, func(int) string { return "" }, nil)
	_, err := sim.Run(sim.Config{Seed: 1, Intercept: in.Intercept, RedisServer: program}, func(w *sim.World) error {
		in.Attach(w)
		w.Node("n", func(p *sim.Process) {
			ctx, c := p.Context(), p.Redis()
			for _, key := range []string{"s", "d"} {
				c.Set(ctx, key, 1, 0)
			}
			c.HSet(ctx, "h", "a", 1, "b", 2)
			c.ZAdd(ctx, "z", redis.Z{Member: "a"}, redis.Z{Member: "b"})
			c.RPush(ctx, "l", 1, 2, 3, 4)
			c.SAdd(ctx, "set", "a", "b")
			p.Clock().Sleep(2 * time.Second)
			if begins != "" {
				tellServer(t, begins)
			}
			for _, args := range [][]any{
				{"get", "s"}, {"set", "s", 2}, {"setnx", "s", 2}, {"setex", "s", 30, 2}, {"incr", "s"}, {"append", "s", "x"}, {"getdel", "d"}, {"mset", "x", 1},
				{"hset", "h", "a", 2}, {"hget", "h", "a"}, {"hincrby", "h", "a", 1}, {"hdel", "h", "b"}, {"zadd", "z", 1, "c"}, {"zrem", "z", "a"}, {"zpopmin", "z"},
				{"zremrangebyscore", "z", 0, 1}, {"zrange", "z", 0, -1}, {"lpush", "l", 1}, {"lpop", "l"}, {"rpop", "l"}, {"ltrim", "l", 0, 1}, {"lrem", "l", 0, 1}, {"sadd", "set", "c"},
				{"srem", "set", "a"}, {"smembers", "set"}, {"expire", "s", 30}, {"persist", "s"}, {"del", "s"}, {"unlink", "h"}, {"exists", "h"},
			} {
				if err := c.Do(ctx, args...).Err(); err != nil && err != redis.Nil { // as it comes
					list += fmt.Sprintf("%s: %v\n", args[0], err)
				}
			}
			_, err := c.TxPipelined(ctx, func(q redis.Pipeliner) error { q.Set(ctx, "s", 1, 0); return nil })
			_, frugal := c.TxPipelined(ctx, func(q redis.Pipeliner) error { q.Get(ctx, "h"); q.Del(ctx, "s"); return nil })
			list += fmt.Sprintf("multi: %v\n%v\n", err, frugal)
			if ends != "" {
				tellServer(t, ends)
			}
		}).Start()
		w.Step(time.Minute, nil)
		return nil
	})
	require.NoError(t, err)
	return list
}

// tellServer has the redis-server of this process carry out a command that a world does not run.
func tellServer(t *testing.T, command string) {
	sockets, err := filepath.Glob(filepath.Join(os.TempDir(), fmt.Sprintf("wavetank-redis-%d-*.sock", os.Getpid())))
	require.NoError(t, err)
	require.Len(t, sockets, 1)
	conn, err := net.Dial("unix", sockets[0])
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprintf(conn, "%s\r\n", command)
	require.NoError(t, err)
	answer, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "+OK\r\n", answer)
}
