package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
)

// One scheduler, one worker, one job, on servers inside this process.
func Example() {
	redisClient, nc, stop := servers()
	defer stop()
	js, err := jetstream.New(nc)
	check(err)

	scheduler, err := engine.New(engine.Config{
		ID: "scheduler-1", Redis: redisClient, JetStream: js, NATS: nc,
		Streams: bus.StreamOptions{Storage: jetstream.MemoryStorage},
	})
	check(err)
	_, _, err = bus.EnsureStreams(context.Background(), js, bus.StreamOptions{Storage: jetstream.MemoryStorage})
	check(err)
	// Workers publish this to sys.heartbeat every few seconds.
	check(scheduler.HandleHeartbeat(job.Heartbeat{WorkerID: "worker-1", Pool: "default", MaxParallelJobs: 4}))

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- scheduler.Run(ctx) }()

	inbox, err := nc.SubscribeSync("worker.worker-1.jobs.>") // of every job and epoch
	check(err)
	client, err := engine.NewClient(engine.ClientConfig{Redis: redisClient, JetStream: js})
	check(err)
	check(client.Submit(ctx, job.Request{JobID: "job-1", Topic: "job.default", Payload: json.RawMessage(`{"prompt":"hello"}`)}))

	msg, err := inbox.NextMsg(time.Minute)
	check(err)
	fmt.Println(string(msg.Data))
	cancel()
	check(<-ended)
	state, err := redisClient.HGet(context.Background(), "job:job-1", "state").Result()
	check(err)
	fmt.Println(state)
	// Output:
	// {"job_id":"job-1","topic":"job.default","worker_id":"worker-1","attempt":1,"epoch":1,"idempotency_key":"job-1","payload":{"prompt":"hello"}}
	// RUNNING
}

func servers() (*redis.Client, *nats.Conn, func()) {
	redisServer, err := miniredis.Run()
	check(err)
	redisClient := redis.NewClient(&redis.Options{Addr: redisServer.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
	dir, err := os.MkdirTemp("", "engine")
	check(err)
	natsServer, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: dir, NoSigs: true})
	check(err)
	natsServer.Start()
	nc, err := nats.Connect("", nats.InProcessServer(natsServer))
	check(err)
	return redisClient, nc, func() {
		nc.Close()
		natsServer.Shutdown()
		natsServer.WaitForShutdown()
		check(redisClient.Close())
		redisServer.Close()
		check(os.RemoveAll(dir))
	}
}

func check(err error) {
	if err != nil {
		log.Panic(err)
	}
}
