package engine

import (
	"strconv"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
)

// One handling, from the lock to its release, with miniredis and nats-server in the same process.
func BenchmarkHandleJobRequest(b *testing.B) {
	server := miniredis.RunT(b)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	defer func() { _ = client.Close() }()
	nc := startNATS(b)
	js, err := jetstream.New(nc)
	require.NoError(b, err)
	_, _, err = bus.EnsureStreams(b.Context(), js, bus.StreamOptions{Storage: jetstream.MemoryStorage})
	require.NoError(b, err)
	e, err := New(Config{ID: "scheduler-1", Redis: client, JetStream: js, NATS: nc})
	require.NoError(b, err)
	require.NoError(b, e.HandleHeartbeat(job.Heartbeat{WorkerID: "worker-1", Pool: "default"}))
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if err := e.HandleJobRequest(b.Context(), request("job-"+strconv.Itoa(n))); err != nil {
			b.Fatal(err)
		}
	}
}
