package main

import (
	"fmt"
	"net"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

// freeAddr is an address on loopback that nobody listens on. Another process may take it since.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// startNATS starts a nats-server at addr with its streams in files in dir.
func startNATS(t *testing.T, addr, dir string) *server.Server {
	t.Helper()
	host, port := splitAddr(addr)
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

	s := start(t, append([]string{"scheduler", "--listen", "127.0.0.1:0", "--set", "engine.fetch_wait=1s"}, at...)...)
	w := start(t, "worker", "--id", "worker-1", "--heartbeat", "200ms", at[2], at[3])
	s.is(503, `^{"status":"failing",.*"redis":"ok","nats":"not connected"}`)
	s.says(`NATS does not answer yet; trying on`)

	nats := startNATS(t, natsAddr, streams)
	s.is(200, `"status":"ok"`)
	done := func(id string) {
		submit := start(t, append([]string{"submit", "--id", id, "--wait"}, at...)...)
		submit.ends(exitHeld)
		submit.says(`(?m)^1 SUCCEEDED$`)
	}
	done("before")

	redis.Close()
	s.is(503, `"engine":"ok","redis":"connection refused","nats":"ok"`)
	require.NoError(t, redis.Restart())
	s.is(200, `"status":"ok"`)
	done("after-redis")

	stopNATS(nats)
	s.is(503, `"engine":"ok","redis":"ok","nats":"not connected"`)
	startNATS(t, natsAddr, streams)
	s.is(200, `"status":"ok"`)
	done("after-nats")

	w.stops()
	w.says(`Worker worker-1 has stopped; it executed 3 jobs\.`)
	s.stops()
}

// A NATS of the scheduler's own keeps its streams where it is told to, beside a Redis that stays.
func TestStreamsInAFolder(t *testing.T) {
	redis := miniredis.NewMiniRedis()
	require.NoError(t, redis.Start())
	t.Cleanup(redis.Close)
	data := t.TempDir()
	at := []string{"--redis", "redis://" + redis.Addr() + "/0", "--nats", ""}
	for n := 1; n <= 2; n++ {
		s := start(t, "scheduler", "--listen", "127.0.0.1:0", "--embedded-nats", "127.0.0.1:0", "--data", data, at[0], at[1])
		s.is(200, `"status":"ok"`)
		at[3] = s.says(`NATS at (nats://\S+)\n`)
		client(t, exitHeld, at, "submit", "--id", "job-1")
		start(t, append([]string{"audit"}, at...)...).says(fmt.Sprintf(`jobs: 1 \w+; .* %s\n`, plural(n, "message")))
		s.stops()
	}
}
