package main

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/workflow"
)

// freeAddr is an address on loopback that nobody listens on. Another process may take it since.
func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// startNATS starts a nats-server at addr with its streams in files in dir.
func startNATS(t *testing.T, addr, dir string) *server.Server {
	t.Helper()
	host, port := servers.SplitAddr(addr)
	srv, err := server.NewServer(&server.Options{Host: host, Port: port, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
	require.NoError(t, err)
	srv.Start()
	t.Cleanup(func() { stopNATS(srv) })
	require.True(t, srv.ReadyForConnections(generous))
	return srv
}

func stopNATS(srv *server.Server) {
	srv.Shutdown()
	srv.WaitForShutdown()
}

// A scheduler waits for NATS, outlives both of its servers, and says meanwhile what it lacks.
func TestASchedulerOutlivesItsServers(t *testing.T) {
	redis := miniredis.NewMiniRedis()
	redis.ClockTTL(true)
	require.NoError(t, redis.Start())
	t.Cleanup(redis.Close)
	natsAddr, streams := freeAddr(t), t.TempDir()
	at := []string{"--redis", "redis://" + redis.Addr() + "/0", "--nats", "nats://" + natsAddr}

	s := start(t, append([]string{"serve", "--id", "scheduler-1", "--listen", "127.0.0.1:0", "--set", "engine.fetch_wait=1s"}, at...)...)
	w := start(t, "worker", "--id", "worker-1", "--heartbeat", "200ms", at[2], at[3])
	s.is(503, `^{"status":"failing",.*"redis":"ok","nats":"not connected"`)
	s.says(`msg="NATS cannot be used; trying again" .* error="connection refused" remedy="start nats-server -js, or give another with --nats"\n`)
	s.says(`msg="the engine cannot start; trying again"`)
	w.says(`msg="heartbeat not sent; trying again" worker=worker-1 error="not connected"\n`)

	nats := startNATS(t, natsAddr, streams)
	s.is(200, `"status":"ok"`)
	done := func(id string) {
		submit := start(t, append([]string{"submit", "--id", id, "--wait"}, at...)...)
		submit.ends(cli.ExitHeld)
		submit.says(`(?m)^1 SUCCEEDED$`)
	}
	done("before")

	redis.Close()
	s.is(503, `"engine":"ok","redis":"connection refused","nats":"ok"`)
	require.NoError(t, redis.Restart())
	s.is(200, `"status":"ok"`)
	done("after-redis")

	stopNATS(nats)
	s.is(503, `"engine":"cannot pull from scheduler-\w+: .*","redis":"ok","nats":"not connected"`)
	w.eventually("miss heartbeats again", func() bool { return strings.Count(w.output(), `msg="heartbeat not sent`) == 2 })
	startNATS(t, natsAddr, streams)
	s.is(200, `"status":"ok"`)
	done("after-nats")

	w.stops()
	w.says(`Worker worker-1 has stopped; it executed 3 jobs\.`)
	s.stops()
	assert.Equal(t, 2, strings.Count(w.output(), `msg="heartbeats are sent again"`), "one line when an outage begins, and one when it ends")
	assert.Equal(t, 2, strings.Count(w.output(), `msg="heartbeat not sent; trying again"`))
	assert.Equal(t, 1, strings.Count(s.output(), `msg="the engine cannot start; trying again"`))
	assert.LessOrEqual(t, strings.Count(s.output(), `msg="pull failed" scheduler=scheduler-1 consumer=scheduler-submit error="not connected"`), 2, "once in each outage")
	for _, p := range []*process{s, w} {
		assert.NotRegexp(t, `<nil>|outbound buffer`, p.output())
	}
}

// What listens where NATS should may be something else, or refuse.
func TestANATSThatIsOfNoUse(t *testing.T) {
	redis := "redis://" + miniredis.RunT(t).Addr() + "/0"
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	at := []string{"--redis", redis, "--nats", "nats://" + web.Listener.Addr().String()}
	s := start(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, at...)...)
	s.says(`msg="NATS cannot be used; trying again" url=\S+ error="the program that listens there does not greet as a nats-server does: i/o timeout" remedy="check that a nats-server has this port and does not hang, or give another server with --nats"\n`)
	s.stops()
	client(t, cli.ExitUsage, at, "submit").says(`^scheduler: NATS at \S+ does not answer: the program that listens there does not greet as a nats-server does: i/o timeout; check that a nats-server has this port and does not hang, or give another server with --nats\n$`)

	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true, Username: "u", Password: "pw"})
	require.NoError(t, err)
	srv.Start()
	t.Cleanup(func() { stopNATS(srv) })
	require.True(t, srv.ReadyForConnections(generous))
	s = start(t, "serve", "--listen", "127.0.0.1:0", "--redis", redis, "--nats", "nats://u:wrong@"+srv.Addr().String())
	s.ends(cli.ExitUsage)
	s.says(`msg="NATS cannot be used; trying again" url=\S+ error="it refuses: nats: Authorization Violation" remedy="give the user and the password in the URL, `)
	s.says(`(?m)^scheduler: NATS at \S+ refuses: nats: Authorization Violation; give the user and the password in the URL, `)
	assert.NotContains(t, s.output(), "start nats-server")
}

// A scheduler that may not make its consumers, or may not pull from them, is not ready.
func TestASchedulerThatIsGivenNothing(t *testing.T) {
	user := func(name, denied string) *server.User {
		return &server.User{Username: name, Password: "pw", Permissions: &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{denied}}}}
	}
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
		Users: []*server.User{user("maker", "$JS.API.CONSUMER.CREATE.>"), user("puller", "$JS.API.CONSUMER.MSG.NEXT.>")}})
	require.NoError(t, err)
	srv.Start()
	t.Cleanup(func() { stopNATS(srv) })
	require.True(t, srv.ReadyForConnections(generous))
	for name, says := range map[string]string{"maker": "cannot start: .*", "puller": "cannot pull from scheduler-cancel: .*"} {
		s := start(t, "serve", "--listen", "127.0.0.1:0", "--redis", startMini(t), "--nats", "nats://"+name+":pw@"+srv.Addr().String())
		s.is(503, `"engine":"`+says+`","redis":"ok"`)
		s.stops()
	}
}

// olderNATS stands before a nats-server, and gives its version as another, 2.10.29.
func olderNATS(t *testing.T, addr string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", addr)
			if err != nil {
				_ = in.Close()
				return
			}
			go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
			go func() {
				defer func() { _ = in.Close() }()
				for r := bufio.NewReader(out); err == nil; {
					var line string
					if line, err = r.ReadString('\n'); strings.HasPrefix(line, "INFO ") {
						line = strings.Replace(line, server.VERSION, "2.10.29", 1)
					}
					_, _ = io.WriteString(in, line)
				}
			}()
		}
	}()
	return "nats://" + l.Addr().String()
}

// One before 2.11 stores a second dispatch of an epoch.
func TestANATSThatIsTooOld(t *testing.T) {
	at := []string{"--listen", "127.0.0.1:0", "--redis", startMini(t), "--nats", olderNATS(t, startNATS(t, freeAddr(t), t.TempDir()).Addr().String())}
	client(t, cli.ExitUsage, at, "serve").says(`(?m)^scheduler: NATS at nats://\S+ cannot be used: it is nats-server 2\.10\.29, which does not keep an epoch to one dispatch; run 2\.11 or later, or set epochs to false$`)
	s := start(t, append([]string{"serve", "--preset", "documented"}, at...)...)
	s.is(200, `"status":"ok"`)
	s.stops()
}

// Nor does a stream do that does not keep what was acknowledged.
func TestAStreamThatIsOfNoUse(t *testing.T) {
	at := []string{"--redis", startMini(t), "--nats", startNATS(t, freeAddr(t), t.TempDir()).ClientURL()}
	nc, err := nats.Connect(at[3])
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: bus.StreamSys, Subjects: bus.SysSubjects, Retention: jetstream.WorkQueuePolicy})
	require.NoError(t, err)
	client(t, cli.ExitUsage, at, "serve", "--listen", "none").says(`(?m)^scheduler: NATS at nats://\S+ cannot be used: stream CORDUM_SYS: its retention is workqueue, and it must be limits, `)
}

// A NATS of the scheduler's own keeps its streams where it is told to, beside a Redis that stays.
func TestStreamsInAFolder(t *testing.T) {
	data := t.TempDir()
	at := []string{"--redis", startMini(t), "--nats", ""}
	for n := 1; n <= 2; n++ {
		s := start(t, "serve", "--listen", "127.0.0.1:0", "--embedded-nats", "127.0.0.1:0", "--data", data, at[0], at[1])
		s.is(200, `"status":"ok"`)
		at[3] = s.says(`NATS at (nats://\S+)\n`)
		second := start(t, "serve", "--listen", "none", "--embedded-nats", "127.0.0.1:0", "--data", data, at[0], at[1])
		second.ends(cli.ExitUsage)
		assert.Equal(t, "scheduler: --data: another scheduler has its streams in "+data+"; end it, or choose another folder\n", second.output())
		client(t, cli.ExitHeld, at, "submit", "--id", "job-1")
		start(t, append([]string{"audit"}, at...)...).says(fmt.Sprintf(`jobs: 1 \w+; .* %s\n`, cli.Plural(n, "message")))
		s.stops()
	}
}

// startMini starts a miniredis, and returns its URL.
func startMini(t *testing.T) string {
	t.Helper()
	return "redis://" + miniredis.RunT(t).Addr() + "/0"
}

// What a scheduler left that was killed goes with the next one's start; what one has that runs stays.
func TestTemporaryStreamsOfTheKilled(t *testing.T) {
	temp := t.TempDir()
	scheduler := func() *process {
		s := startIn(t, temp, "serve", "--listen", "127.0.0.1:0", "--embedded-redis", "127.0.0.1:0", "--embedded-nats", "127.0.0.1:0")
		s.is(200, `"status":"ok"`)
		return s
	}
	folders := func() []string {
		list, err := filepath.Glob(filepath.Join(temp, "*"))
		require.NoError(t, err)
		return list
	}
	killed := scheduler()
	left := folders()
	require.Len(t, left, 1)
	other := scheduler()
	assert.Len(t, folders(), 2, "the first one runs")
	killed.dies()
	last := scheduler()
	assert.NoDirExists(t, left[0])
	assert.Len(t, folders(), 2)
	other.is(200, `"status":"ok"`)
	other.stops()
	last.stops()
	assert.Empty(t, folders())
}

// A server that goes away midway is no bad usage.
func TestSubmitLosesAServer(t *testing.T) {
	redis := miniredis.NewMiniRedis()
	require.NoError(t, redis.Start())
	t.Cleanup(redis.Close)
	srv := startNATS(t, freeAddr(t), t.TempDir())
	at := []string{"--redis", "redis://" + redis.Addr() + "/0", "--nats", srv.ClientURL()}
	audit := client(t, cli.ExitInconclusive, at, "audit")
	audit.says(`^INCONCLUSIVE  nothing to judge: NATS at \S+ has no stream CORDUM_SYS, which a scheduler makes; run .* first\n`)
	s := start(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, at...)...)
	s.is(200, `"status":"ok"`)

	submit := start(t, append([]string{"submit", "--jobs", "1000", "--every", "50ms", "--id-prefix", "job-"}, at...)...)
	submit.eventually("submit", func() bool { return redis.Exists("job:job-1") })
	stopNATS(srv)
	submit.ends(cli.ExitInconclusive)
	submit.says(`^scheduler: submit job-\d+: .*; \d+ of 1,000 jobs submitted: to go on, give the same ids again \(--id-prefix job- --jobs 1000\)\n$`)
	assert.NotContains(t, submit.output(), "outbound buffer")
}

// A worker that was there first is known as soon as there is somebody to know it.
func TestAWorkerBeforeItsScheduler(t *testing.T) {
	redis := miniredis.NewMiniRedis()
	require.NoError(t, redis.Start())
	t.Cleanup(redis.Close)
	at := []string{"--redis", "redis://" + redis.Addr() + "/0", "--nats", startNATS(t, freeAddr(t), t.TempDir()).ClientURL()}
	w := start(t, "worker", "--id", "worker-1", "--heartbeat", "1h", at[2], at[3])
	w.says(`msg="no jobs yet; trying again".*there is no such stream`)
	s := start(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--set", "engine.retry_delay_no_workers=100ms"}, at...)...)
	s.is(200, `"status":"ok"`)
	client(t, cli.ExitHeld, at, "submit", "--id", "job-1", "--wait").says(`(?m)^1 SUCCEEDED$`)
	assert.Equal(t, 1, strings.Count(w.output(), `msg="no jobs yet`))
	w.stops()
}

// Redis is asked again when it did not answer, and not when it did.
func TestNoAnswer(t *testing.T) {
	server := miniredis.RunT(t)
	opt, err := (&servers.Flags{RedisURL: "redis://" + server.Addr() + "/0"}).RedisOptions()
	require.NoError(t, err)
	c := opt.Client(slog.New(slog.DiscardHandler))
	defer func() { assert.NoError(t, c.Close()) }()
	runs := runsIn(c)
	read := func() error {
		_, err := runs.Read(t.Context(), "run-1")
		require.Error(t, err)
		return err
	}
	assert.False(t, servers.NoAnswer(read()), "there is none")
	require.NoError(t, server.Set(workflow.RunKey("run-1"), "{"))
	assert.False(t, servers.NoAnswer(read()), "it cannot be read")
	server.SetError("WRONGTYPE Operation against a key holding the wrong kind of value")
	assert.False(t, servers.NoAnswer(read()))
	server.SetError("LOADING Redis is loading the dataset in memory")
	assert.True(t, servers.NoAnswer(read()))
	server.SetError("")
	runs.Timeout = time.Nanosecond
	assert.True(t, servers.NoAnswer(read()), "it takes too long")
	runs.Timeout = time.Minute
	server.Close()
	assert.True(t, servers.NoAnswer(read()), "the connection is lost")
	assert.True(t, servers.NoAnswer(read()), "it is not there")
}
