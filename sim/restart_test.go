package sim_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// shop is a world on file storage: two consumers that take a while over each message and sometimes hand
// it back or leave it, a publisher, heartbeats over core NATS, and a restart of nats-server in the middle
// of it all, from 10 s on, for as long as away says.
func shop(w *sim.World, away time.Duration, ackWait time.Duration) (handled []string, err error) {
	ctx := context.Background()
	if _, err = w.JetStream().CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}, Storage: jetstream.FileStorage}); err != nil {
		return nil, err
	}
	if _, err = w.JetStream().CreateConsumer(ctx, "ORDERS", jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait}); err != nil {
		return nil, err
	}
	for i := range 2 {
		w.Node(fmt.Sprintf("consumer-%d", i+1), func(p *sim.Process) {
			beats := 0
			_, _ = p.NATS().Subscribe("beat", func(*nats.Msg) { beats++; p.Redis().Set(p.Context(), "beats:"+p.Node(), beats, 0) })
			var c jetstream.Consumer
			for c == nil {
				if c, _ = p.JetStream().Consumer(p.Context(), "ORDERS", "c"); c == nil {
					p.Clock().Sleep(time.Second)
				}
			}
			for p.Context().Err() == nil {
				batch, err := c.Fetch(3, jetstream.FetchMaxWait(30*time.Second))
				if err != nil {
					p.Clock().Sleep(500 * time.Millisecond)
					continue
				}
				for m := range batch.Messages() {
					md, _ := m.Metadata()
					handled = append(handled, fmt.Sprintf("%s/%d", m.Data(), md.NumDelivered))
					p.Clock().Sleep(700 * time.Millisecond)
					switch p.Rand().Uint64(p.Context()) % 4 {
					case 0: // it is left to AckWait
					case 1:
						_ = m.NakWithDelay(3 * time.Second)
					default:
						_ = m.Ack()
					}
				}
			}
		}).Start()
	}
	w.Node("shop", func(p *sim.Process) {
		for i := range 60 {
			p.Clock().Sleep(400 * time.Millisecond)
			_ = p.NATS().Publish("beat", nil)
			for _, err := p.JetStream().Publish(p.Context(), "orders.new", fmt.Appendf(nil, "%d", i)); err != nil; {
				p.Clock().Sleep(300 * time.Millisecond)
				_, err = p.JetStream().Publish(p.Context(), "orders.new", fmt.Appendf(nil, "%d", i))
			}
		}
	}).Start()
	w.At(10*time.Second, "stop", sim.NATS, func() { w.RestartNATS(away, nil) })
	w.At(10*time.Second+away/2, "crash", "consumer-2", w.Find("consumer-2").Crash)
	w.At(10*time.Second+away/2+1, "restart", "consumer-2", w.Find("consumer-2").Start)
	w.Step(10*time.Minute, nil)
	return handled, w.CheckTruth()
}

func TestServicesOutliveARestartOfNATS(t *testing.T) {
	for _, away := range []time.Duration{0, 7 * time.Second} {
		t.Run(away.String(), func(t *testing.T) {
			var stored []uint64
			var controls []string
			_, err := sim.Run(sim.Config{Seed: 4, Observe: func(e *sim.Event) {
				for _, c := range e.Changes {
					if c.Stream != "" {
						stored = append(stored, c.Seq)
					}
				}
				if e.Kind == sim.KindControl {
					controls = append(controls, e.Name+" "+e.Target)
				}
			}}, func(w *sim.World) error {
				handled, err := shop(w, away, 20*time.Second)
				seen := map[string]bool{}
				for _, h := range handled {
					assert.False(t, seen[h], "%s was delivered twice: the consumer's state survives", h)
					seen[h] = true
				}
				for i := range 60 { // what a crash took was delivered, too
					assert.True(t, seen[fmt.Sprintf("%d/1", i)] || seen[fmt.Sprintf("%d/2", i)], "order %d", i)
				}
				assert.Greater(t, len(handled), 60)
				assert.NotEmpty(t, w.Redis()["beats:consumer-1"])
				return err
			})
			require.NoError(t, err)
			require.Len(t, stored, 60)
			for i, seq := range stored {
				assert.EqualValues(t, i+1, seq, "each message is seen once")
			}
			assert.Contains(t, controls, "stop nats")
			assert.Contains(t, controls, "start nats")
			assert.Contains(t, controls, "reconnect shop")
		})
	}
}

// AckWait passes while the server is away, shortly after, or later.
func TestSameSeedSameTraceOverARestartOfNATS(t *testing.T) {
	for _, ackWait := range []time.Duration{time.Second, 3 * time.Second, 20 * time.Second} {
		for _, away := range []time.Duration{0, 5 * time.Second} {
			alike(t, func(w *sim.World) error {
				_, err := shop(w, away, ackWait)
				return err
			})
		}
	}
}

// alike asserts that four runs have the same trace, on one processor and on two.
func alike(t *testing.T, body func(*sim.World) error) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var first []byte
	for i := range 4 {
		runtime.GOMAXPROCS(1 + i%2)
		var trace bytes.Buffer
		_, err := sim.Run(sim.Config{Seed: 9, Trace: &trace}, body)
		require.NoError(t, err)
		if i == 0 {
			first = trace.Bytes()
			continue
		}
		line, a, b, err := sim.FirstDifference(bytes.NewReader(first), &trace)
		require.NoError(t, err)
		require.Zero(t, line, "run %d:\n%s\n%s", i, a, b)
	}
}

func TestStreamsInMemoryAreGoneAfterARestart(t *testing.T) {
	_, err := sim.Run(sim.Config{}, func(w *sim.World) error {
		_, err := w.JetStream().CreateStream(context.Background(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.MemoryStorage})
		require.NoError(t, err)
		made := false
		w.Node("n", func(p *sim.Process) {
			p.Clock().Sleep(10 * time.Second)
			_, err := p.JetStream().Publish(p.Context(), "s", nil)
			assert.Error(t, err)
			_, err = p.JetStream().CreateStream(p.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.MemoryStorage})
			assert.NoError(t, err)
			_, err = p.JetStream().Publish(p.Context(), "s", nil)
			assert.NoError(t, err)
			made = true
		}).Start()
		w.At(time.Second, "stop", sim.NATS, func() { w.RestartNATS(0, nil) })
		w.Step(time.Minute, func() bool { return made })
		return w.CheckTruth()
	})
	require.NoError(t, err)
}

func TestAPublishWithoutItsServerFailsAtOnce(t *testing.T) {
	_, err := sim.Run(sim.Config{}, func(w *sim.World) error {
		var failed time.Duration
		w.Node("n", func(p *sim.Process) {
			p.Clock().Sleep(2 * time.Second)
			began := w.Now()
			_, err := p.JetStream().Publish(p.Context(), "s", nil)
			assert.ErrorIs(t, err, nats.ErrReconnectBufExceeded)
			failed = w.Now() - began
			_, err = p.JetStream().AccountInfo(p.Context())
			assert.Error(t, err)
			assert.ErrorIs(t, p.NATS().Publish("x", nil), nats.ErrReconnectBufExceeded)
		}).Start()
		w.At(time.Second, "stop", sim.NATS, func() { w.RestartNATS(time.Hour, nil) })
		w.Step(time.Minute, nil)
		assert.NotZero(t, failed)
		assert.Less(t, failed, 100*time.Millisecond)
		return w.CheckTruth()
	})
	require.NoError(t, err)
}

func TestAPullThatWaitsEndsWithItsServer(t *testing.T) {
	_, err := sim.Run(sim.Config{}, func(w *sim.World) error {
		_, err := w.JetStream().CreateStream(context.Background(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.FileStorage})
		require.NoError(t, err)
		var ended time.Duration
		w.Node("n", func(p *sim.Process) {
			c, err := p.JetStream().CreateOrUpdateConsumer(p.Context(), "S", jetstream.ConsumerConfig{Durable: "c"})
			assert.NoError(t, err)
			_, err = c.Next(jetstream.FetchMaxWait(time.Minute))
			assert.ErrorIs(t, err, jetstream.ErrServerShutdown)
			ended = w.Now()
		}).Start()
		w.At(2*time.Second, "stop", sim.NATS, func() { w.RestartNATS(0, nil) })
		w.Step(time.Minute, nil)
		assert.InDelta(t, 2, ended.Seconds(), 0.2)
		return nil
	})
	require.NoError(t, err)
}

// nats-server draws, without a seed, when it looks at what a restored consumer has to deliver again. Did
// that count, it would show here: in when a message comes again that was delivered about an AckWait later.
func TestRestoredConsumersTakeNoChances(t *testing.T) {
	const ackWait = 5 * time.Second
	run := func() (again time.Duration) {
		_, err := sim.Run(sim.Config{}, func(w *sim.World) error {
			ctx := context.Background()
			_, err := w.JetStream().CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.FileStorage})
			require.NoError(t, err)
			_, err = w.JetStream().CreateConsumer(ctx, "S", jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait})
			require.NoError(t, err)
			publish := func() { _, _ = w.JetStream().Publish(context.Background(), "s", nil) }
			w.At(time.Second, "publish", "s", publish)
			w.At(3*time.Second, "stop", sim.NATS, func() { w.RestartNATS(10*time.Second, nil) })
			w.At(19*time.Second, "publish", "s", publish) // 6 s after the server is there again
			w.Node("n", func(p *sim.Process) {
				c, err := p.JetStream().Consumer(p.Context(), "S", "c")
				assert.NoError(t, err)
				for {
					m, err := c.Next(jetstream.FetchMaxWait(20 * time.Second))
					if err != nil {
						p.Clock().Sleep(100 * time.Millisecond)
						continue
					}
					md, err := m.Metadata()
					assert.NoError(t, err)
					switch fmt.Sprint(md.Sequence.Stream, "/", md.NumDelivered) {
					case "1/2":
						assert.NoError(t, m.Ack())
					case "2/2":
						again = w.Now()
						assert.NoError(t, m.Ack())
					}
				}
			}).Start()
			w.Step(time.Minute, nil)
			return nil
		})
		require.NoError(t, err)
		return again
	}
	first := run()
	assert.InDelta(t, 24, first.Seconds(), 0.1)
	for range 9 {
		assert.Equal(t, first, run())
	}
}
