package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
)

// requireRedis is set where nothing may be left out, as in CI. The Makefile says what is, since go
// test does not.
const requireRedis = "WAVETANK_REQUIRE_REDIS"

// startRedis starts the redis-server that is installed on this machine, on loopback, and returns its
// URL.
func startRedis(t testing.TB, more ...string) string {
	t.Helper()
	addr, _ := startRedisAt(t, func(port string) []string {
		return append([]string{"--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0", "--dir", t.TempDir()}, more...)
	})
	return "redis://" + addr + "/0"
}

// startRedisAt starts a redis-server with the arguments for a port, and returns its address and the function that
// kills it.
func startRedisAt(t testing.TB, args func(port string) []string) (addr string, kill func()) {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		text := "LEFT OUT: redis-server is not installed; install it (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis) and run this test again"
		if os.Getenv(requireRedis) != "" {
			t.Fatal(text + "; $" + requireRedis + " allows no omission")
		}
		t.Skip(text)
	}
	for range 10 { // another process may take the port between
		addr := freeAddr(t)
		_, port := servers.SplitAddr(addr)
		cmd := exec.Command(program, args(strconv.Itoa(port))...)
		require.NoError(t, cmd.Start())
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		if answers(addr, ended) {
			kill := func() {
				_ = cmd.Process.Kill()
				<-ended
			}
			t.Cleanup(kill)
			return addr, kill
		}
	}
	t.Fatal("redis-server does not start")
	return "", nil
}

// answers says whether the Redis at addr, which runs until ended, takes connections; and that it is this one.
func answers(addr string, ended <-chan struct{}) bool {
	for end := time.Now().Add(generous); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		select {
		case <-ended:
			return false
		default:
		}
		if c, err := net.Dial("tcp", addr); err == nil {
			_ = c.Close()
			return true
		}
	}
	return false
}

// fast are settings under which what takes minutes takes seconds.
var fast = []string{
	"--set", "engine.poll_interval=1s", "--set", "engine.job_lock_ttl=2s", "--set", "engine.ack_wait=5s", "--set", "engine.fetch_wait=1s",
	"--set", "engine.retry_delay_busy=100ms", "--set", "engine.retry_delay_no_workers=500ms", "--set", "engine.retry_delay_store=500ms",
	"--set", "engine.pending_age=3s", "--set", "engine.scheduled_age=3s", "--set", "engine.intent_age=2s",
	"--set", "engine.snapshot_every=1s", "--set", "engine.snapshot_lock_ttl=2s",
}

// Schedulers are killed in the middle of their work, over the real Redis and the real nats-server; what
// the simulation promises holds there, too.
func TestRealServers(t *testing.T) {
	const jobs = 1000
	at := []string{"--redis", startRedis(t), "--nats", startNATS(t, freeAddr(t), t.TempDir()).ClientURL()}
	scheduler := func(id string) *process {
		s := start(t, append(append([]string{"serve", "--id", id, "--listen", "127.0.0.1:0", "--log-level", "warn"}, at...), fast...)...)
		s.is(200, `"status":"ok"`)
		return s
	}
	schedulers := []*process{scheduler("scheduler-1"), scheduler("scheduler-2")}
	var workers []*process
	var ledgers []string
	for n := 1; n <= 3; n++ {
		ledger := filepath.Join(t.TempDir(), "ledger.jsonl")
		ledgers = append(ledgers, ledger)
		workers = append(workers, start(t, "worker", "--id", fmt.Sprintf("worker-%d", n), at[2], at[3], "--parallel", "16", "--work", "20ms",
			"--heartbeat", "500ms", "--ledger", ledger, "--log-level", "warn"))
	}

	submit := start(t, append([]string{"submit", "--jobs", strconv.Itoa(jobs), "--id-prefix", "job-", "--wait"}, at...)...)
	for i, share := range []int{jobs / 4, jobs / 2, 3 * jobs / 4} {
		submit.eventually(fmt.Sprintf("have %d jobs executed", share), func() bool { return len(executions(t, ledgers...)) >= share })
		which := i % len(schedulers)
		schedulers[which].dies()
		schedulers[which] = scheduler(fmt.Sprintf("scheduler-%d", which+1))
	}
	submit.says(`(?m)^1,000 SUCCEEDED$`)
	submit.ends(cli.ExitHeld)

	audit := start(t, append([]string{"audit", "--settled"}, append(at, fast...)...)...)
	audit.ends(cli.ExitHeld)
	audit.says(`(?m)^HELD `)
	audit.says(`one-dispatch-per-job +held +1,000 times`)
	for _, s := range schedulers {
		s.is(200, `"status":"ok"`)
		_, metrics := s.get(s.says(`(http://\S+/metrics)`))
		assert.Contains(t, metrics, "\njobs_received{topic=\"job.default\"}")
		s.stops()
		s.says(`has stopped; what it had begun is finished`)
	}
	for _, w := range workers {
		w.stops()
	}

	// An effect is had once where no worker dies: no dispatch is stored twice, and none is lost.
	count := map[string]int{}
	for _, e := range executions(t, ledgers...) {
		count[e.Job]++
	}
	assert.Len(t, count, jobs)
	for id, n := range count {
		assert.Equal(t, 1, n, id)
	}
}

// executions reads what workers have noted so far, whole lines only.
func executions(t *testing.T, ledgers ...string) (all []execution) {
	t.Helper()
	for _, name := range ledgers {
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		for line := range bytes.Lines(text) {
			if !bytes.HasSuffix(line, []byte("\n")) {
				continue
			}
			var e execution
			require.NoError(t, json.Unmarshal(line, &e), "%s: %s", name, line)
			all = append(all, e)
		}
	}
	return all
}

// A Redis that takes no writes is named as the reason, with what to do about it.
func TestRedisThatTakesNoWrites(t *testing.T) {
	at := []string{"--redis", startRedis(t), "--nats", startNATS(t, freeAddr(t), t.TempDir()).ClientURL()}
	s := start(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, at...)...)
	s.is(200, `"status":"ok"`)
	c := dial(t, at[1])
	midway := start(t, append([]string{"submit", "--jobs", "1000", "--every", "50ms", "--id-prefix", "midway-"}, at...)...)
	midway.eventually("submit", func() bool { return c.Exists(t.Context(), "job:midway-1").Val() == 1 })
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "1").Err())
	midway.ends(cli.ExitInconclusive)
	midway.says(`^scheduler: .*: OOM command not allowed .*; \d+ of 1,000 jobs submitted: raise the maxmemory of Redis at \S+, or let it hold less; then give the same ids again .*\n$`)
	s.is(503, `"status":"failing",.*"redis":"OOM command not allowed [^"]*"`)
	client(t, cli.ExitInconclusive, at, "submit", "--id", "job-1").says(`^scheduler: Redis at \S+ refuses: OOM command not allowed .*; raise its maxmemory, let it hold less, or give another Redis with --redis\n$`)
	require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "0").Err())
	s.is(200, `"status":"ok"`)
	require.NoError(t, c.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
	client(t, cli.ExitUsage, at, "submit", "--id", "job-1").says(`^scheduler: Redis at \S+ cannot be used: it is a replica, which takes no writes; give its master with --redis, .*\n$`)
	require.NoError(t, c.ReplicaOf(t.Context(), "NO", "ONE").Err())
	client(t, cli.ExitHeld, at, "submit", "--id", "job-1").says(`^Submitted job-1\n$`)
}
