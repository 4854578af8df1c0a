package faults_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/sim"
)

func TestPartitionFromRedis(t *testing.T) {
	failed := map[int]bool{}
	in, events := world(t, []faults.Fault{{At: 10 * time.Second, Do: faults.Partition, Node: "n", From: faults.Redis, For: 20 * time.Second}},
		func(w *sim.World, _ *faults.Injector) {
			for _, name := range []string{"n", "other"} {
				w.Node(name, func(p *sim.Process) {
					for range 40 {
						p.Clock().Sleep(time.Second)
						began := w.Now()
						err := write(p, "order-1", "save", "x")
						assert.Less(t, w.Now()-began, 100*time.Millisecond, "at once")
						if name == "other" {
							assert.NoError(t, err)
						} else if err != nil {
							assert.ErrorIs(t, err, syscall.ECONNREFUSED)
							failed[int(w.Now()/time.Second)] = true
						}
						assert.NoError(t, p.NATS().Publish("talk", nil), "nothing else is cut")
					}
				}).Start()
			}
			w.Step(time.Minute, nil)
		})
	for s := range 40 {
		assert.Equal(t, s >= 10 && s < 30, failed[s], "%d s", s)
	}
	assert.Equal(t, 20*time.Second, in.Fired()[0].Until-in.Fired()[0].At)
	var controls []string
	for _, e := range events {
		if e.Kind == sim.KindControl {
			controls = append(controls, e.Name+" "+e.Target)
		}
	}
	assert.Equal(t, []string{"partition redis n", "heal redis n"}, controls)
}

// natsWorld has a stream with an explicit-ack consumer.
func natsWorld(t *testing.T, w *sim.World) jetstream.JetStream {
	js := w.JetStream()
	_, err := js.CreateStream(context.Background(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Storage: jetstream.MemoryStorage})
	require.NoError(t, err)
	_, err = js.CreateConsumer(context.Background(), "S", jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Minute})
	require.NoError(t, err)
	return js
}

func TestPartitionFromNATS(t *testing.T) {
	var heard, spoken int
	_, _ = world(t, []faults.Fault{{At: 10 * time.Second, Do: faults.Partition, Node: "n", From: faults.NATS, For: 50 * time.Second}},
		func(w *sim.World, _ *faults.Injector) {
			js := natsWorld(t, w)
			ear := func(p *sim.Process, n *int) {
				_, err := p.NATS().Subscribe("talk", func(*nats.Msg) { *n++ })
				assert.NoError(t, err)
			}
			w.Node("other", func(p *sim.Process) {
				ear(p, &spoken)
				p.Clock().Sleep(20 * time.Second)
				assert.NoError(t, p.NATS().Publish("talk", nil))
			}).Start()
			w.Node("n", func(p *sim.Process) {
				ear(p, &heard)
				c, err := p.JetStream().Consumer(p.Context(), "S", "c")
				assert.NoError(t, err)
				p.Clock().Sleep(11 * time.Second)
				took := func(f func() error) (time.Duration, error) {
					began := w.Now()
					err := f()
					return (w.Now() - began).Round(time.Second), err
				}
				publish := func(ctx context.Context) func() error {
					return func() error {
						_, err := p.JetStream().Publish(ctx, "s.x", nil)
						return err
					}
				}
				ctx, cancel := context.WithTimeout(p.Context(), 3*time.Second)
				defer cancel()
				d, err := took(publish(ctx))
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, 3*time.Second, d, "until its caller's deadline")
				d, err = took(publish(p.Context()))
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, 5*time.Second, d, "until the library's own")
				d, err = took(func() error { _, err := p.JetStream().Stream(p.Context(), "S"); return err })
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, 5*time.Second, d)
				d, err = took(func() error { _, err := c.Fetch(1); return err })
				assert.ErrorIs(t, err, jetstream.ErrNoHeartbeat)
				assert.Equal(t, 10*time.Second, d)
				d, err = took(func() error { return p.NATS().Publish("talk", nil) })
				assert.NoError(t, err, "nobody tells its sender")
				assert.Zero(t, d)
				assert.NoError(t, p.Redis().Set(p.Context(), "k", "v", 0).Err(), "nothing else is cut")
				p.Clock().Sleep(time.Minute)
				assert.NoError(t, publish(p.Context())())
				assert.NoError(t, p.NATS().Publish("talk", nil))
			}).Start()
			w.Step(3*time.Minute, nil)
			s, err := js.Stream(context.Background(), "S")
			require.NoError(t, err)
			assert.EqualValues(t, 1, s.CachedInfo().State.Msgs, "nothing arrives when the partition is over")
		})
	assert.Equal(t, 1, heard, "its own, at the end")
	assert.Equal(t, 2, spoken, "likewise, and the other's own")
}

// What the server sends to a node that is cut off is lost: AckWait brings it back. So is an ack that
// the node sends.
func TestMessagesAndAcksAreLostToAPartitionFromNATS(t *testing.T) {
	var got []string
	_, _ = world(t, []faults.Fault{
		{At: 10 * time.Second, Do: faults.Partition, Node: "n", From: faults.NATS, For: 10 * time.Second},
		{At: 76 * time.Second, Do: faults.Partition, Node: "n", From: faults.NATS, For: 10 * time.Second},
	}, func(w *sim.World, _ *faults.Injector) {
		js := natsWorld(t, w)
		w.At(15*time.Second, "publish", "s.x", func() { _, _ = js.Publish(context.Background(), "s.x", nil) })
		w.Node("n", func(p *sim.Process) {
			c, err := p.JetStream().Consumer(p.Context(), "S", "c")
			assert.NoError(t, err)
			for {
				m, err := c.Next(jetstream.FetchMaxWait(30 * time.Second))
				if err != nil {
					continue
				}
				md, err := m.Metadata()
				assert.NoError(t, err)
				got = append(got, fmt.Sprint(md.NumDelivered, " at ", w.Now().Round(time.Second)))
				p.Clock().Sleep(2 * time.Second)
				assert.NoError(t, m.Ack())
			}
		}).Start()
		w.Step(5*time.Minute, nil)
	})
	assert.Equal(t, []string{"2 at 1m15s", "3 at 2m15s"}, got)
}

func TestPartitionsWithoutAnEndAreHealed(t *testing.T) {
	world(t, []faults.Fault{{At: 5 * time.Second, Do: faults.Partition, Node: "n", From: faults.Redis}}, func(w *sim.World, in *faults.Injector) {
		w.Node("n", func(p *sim.Process) { <-p.Context().Done() }).Start()
		w.Step(time.Minute, nil)
		assert.True(t, in.Quiet(), "nothing that ends by itself")
		in.Heal(w)
		w.Step(2*time.Minute, nil)
		assert.Equal(t, 55*time.Second, (in.Fired()[0].Until - in.Fired()[0].At).Round(time.Second))
	})
}

// A server that restarts holds the world up, and a partition may begin later than it should.
func TestAPartitionAfterTheHealEndsToo(t *testing.T) {
	world(t, []faults.Fault{{At: 5 * time.Second, Do: faults.Partition, Node: "n", From: faults.Redis}}, func(w *sim.World, in *faults.Injector) {
		w.Node("n", func(p *sim.Process) { <-p.Context().Done() }).Start()
		in.Heal(w)
		w.Step(time.Minute, nil)
		assert.Equal(t, time.Second, (in.Fired()[0].Until - in.Fired()[0].At).Round(time.Second))
	})
}

// A service that its callers are cut off from is called by its node's name.
func TestPartitionFromAServer(t *testing.T) {
	in, events := world(t, []faults.Fault{{At: 10 * time.Second, Do: faults.Partition, Node: "n", From: "doctor", For: 20 * time.Second}},
		func(w *sim.World, _ *faults.Injector) {
			w.Node("doctor", func(p *sim.Process) {
				p.Serve(func(s grpc.ServiceRegistrar) { grpc_health_v1.RegisterHealthServer(s, health.NewServer()) })
			}).Start()
			for _, name := range []string{"n", "other"} {
				w.Node(name, func(p *sim.Process) {
					client := grpc_health_v1.NewHealthClient(p.Dial("doctor"))
					for i := range 8 {
						p.Clock().Sleep(time.Duration(i+1)*5*time.Second - w.Now())
						ctx, cancel := context.WithTimeout(p.Context(), 2*time.Second)
						began := w.Now()
						_, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
						cancel()
						if name == "n" && began >= 10*time.Second && began < 30*time.Second {
							assert.ErrorIs(t, err, context.DeadlineExceeded)
							assert.GreaterOrEqual(t, w.Now()-began, 2*time.Second)
						} else {
							assert.NoError(t, err, "%s at %v", name, began)
						}
					}
				}).Start()
			}
			w.Step(time.Minute, nil)
		})
	assert.Equal(t, 20*time.Second, in.Fired()[0].Until-in.Fired()[0].At)
	assert.NotEmpty(t, events)
}
