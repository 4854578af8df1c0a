package faults_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/sim"
)

// storm is a fault of each kind, some of them at once.
var storm = []faults.Fault{
	{On: &faults.Match{Phase: "save", Occurrence: 2}, Do: faults.Late, For: 7 * time.Second, Times: 5},
	{On: &faults.Match{Phase: "publish", Occurrence: 3}, Do: faults.Late, For: 9 * time.Second, Times: 3},
	{On: &faults.Match{Phase: "save"}, Do: faults.FailAfter, Rate: 0.1},
	{On: &faults.Match{Phase: "publish", Occurrence: 7}, Do: faults.Hang},
	{After: &faults.Match{Phase: "save", Occurrence: 9}, Do: faults.Pause, Node: faults.Actor, For: 12 * time.Second},
	{After: &faults.Match{Phase: "save", Occurrence: 11}, Do: faults.Crash, Node: faults.Actor, RestartIn: 5 * time.Second},
	{At: 6 * time.Second, Do: faults.Pause, Node: "buyer-1", For: 4 * time.Second},
	{At: 20 * time.Second, Do: faults.Partition, Node: "buyer-1", From: faults.Redis, For: 8 * time.Second},
	{At: 23 * time.Second, Do: faults.Partition, Node: "buyer-2", From: faults.NATS, For: 15 * time.Second},
	{At: 26 * time.Second, Do: faults.Partition, Node: "shop", From: "heartbeats", For: 5 * time.Second},
	{At: 45 * time.Second, Do: faults.Restart, Node: faults.NATS, For: 3 * time.Second},
	{After: &faults.Match{Phase: "publish", Occurrence: 60}, Do: faults.Restart, Node: faults.NATS},
}

// weather runs a shop and its buyers under the storm, and returns the trace.
func weather(t *testing.T, seed uint64, strategy sim.Strategy) []byte {
	t.Helper()
	var trace bytes.Buffer
	in := faults.NewInjector(storm, func(n int) string { return "order-" + strconv.Itoa(n) }, map[string]string{"heartbeats": "beat"})
	_, err := sim.Run(sim.Config{
		Seed: seed, Strategy: strategy, Trace: &trace, Intercept: in.Intercept,
		Tags: func(ctx context.Context) sim.Tags {
			tags, _ := ctx.Value(tagKey{}).(sim.Tags)
			return tags
		},
		MsgTags: func(subject string, _ nats.Header, _ []byte) sim.Tags { return sim.Tags{Phase: subject} },
	}, func(w *sim.World) error {
		in.Attach(w)
		if _, err := w.JetStream().CreateStream(context.Background(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}}); err != nil {
			return err
		}
		if _, err := w.JetStream().CreateConsumer(context.Background(), "S", jetstream.ConsumerConfig{Durable: "c", AckWait: 10 * time.Second, AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
			return err
		}
		for i := range 2 {
			w.Node(fmt.Sprintf("buyer-%d", i+1), buy).Start()
		}
		w.Node("shop", func(p *sim.Process) {
			for i := range 100 {
				p.Clock().Sleep(700 * time.Millisecond)
				ctx, cancel := context.WithTimeout(tagged(p.Context(), "", "publish"), time.Second)
				_, _ = p.JetStream().Publish(ctx, "s.x", fmt.Appendf(nil, "order-%d", i))
				cancel()
				_ = p.NATS().Publish("beat", nil)
			}
		}).Start()
		w.Step(2*time.Minute, nil)
		in.Heal(w)
		w.Step(4*time.Minute, nil)
		return w.CheckTruth()
	})
	require.NoError(t, err)
	require.Empty(t, in.Unfired())
	return trace.Bytes()
}

// buy saves each order under a check of what it has read.
func buy(p *sim.Process) {
	var c jetstream.Consumer
	for c == nil {
		if c, _ = p.JetStream().Consumer(p.Context(), "S", "c"); c == nil {
			p.Clock().Sleep(time.Second)
		}
	}
	for p.Context().Err() == nil {
		m, err := c.Next(jetstream.FetchMaxWait(10 * time.Second))
		if err != nil {
			p.Clock().Sleep(500 * time.Millisecond)
			continue
		}
		job := string(m.Data())
		ctx, cancel := context.WithTimeout(tagged(p.Context(), "", "save"), 2*time.Second)
		err = p.Redis().Watch(ctx, func(tx *redis.Tx) error {
			if err := tx.Get(ctx, job).Err(); err == nil {
				return nil
			}
			_, err := tx.TxPipelined(ctx, func(q redis.Pipeliner) error {
				q.Set(ctx, job, p.Node(), 0)
				q.Incr(ctx, "orders")
				return nil
			})
			return err
		}, job)
		cancel()
		if err != nil {
			_ = m.NakWithDelay(time.Second)
			continue
		}
		_ = m.Ack()
	}
}

func TestSameSeedSameTraceUnderEveryFault(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, strategy := range []sim.Strategy{sim.Latency{}, sim.Random{}} {
		for seed := range uint64(3) {
			runtime.GOMAXPROCS(1)
			first := weather(t, seed, strategy)
			runtime.GOMAXPROCS(2)
			line, a, b, err := sim.FirstDifference(bytes.NewReader(first), bytes.NewReader(weather(t, seed, strategy)))
			require.NoError(t, err)
			require.Zero(t, line, "seed %d:\n%s\n%s", seed, a, b)
		}
	}
}
