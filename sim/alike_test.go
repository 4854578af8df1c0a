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
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/wavetank-sim/wavetank/sim"
)

// wards is a gRPC server that notes who asks, each time.
type wards struct {
	grpc_health_v1.UnimplementedHealthServer
	p *sim.Process
}

func (s wards) Check(ctx context.Context, r *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	s.p.Redis().RPush(s.p.Context(), "asked", r.Service)
	return &grpc_health_v1.HealthCheckResponse{}, nil
}

// What goroutines of one process do at one instant is told apart by all that it says, not by which of them the Go scheduler
// lets go first.
func TestOperationsThatDifferOnlyInWhatTheySay(t *testing.T) {
	at := func(p *sim.Process, do func(what string)) {
		for i := range 20 {
			p.Clock().Sleep(time.Second)
			for _, who := range []string{"a", "b", "c"} {
				go do(fmt.Sprint(who, i))
			}
		}
	}
	stream := func(w *sim.World) jetstream.JetStream {
		_, err := w.JetStream().CreateStream(context.Background(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.MemoryStorage})
		require.NoError(t, err)
		return w.JetStream()
	}
	for name, start := range map[string]func(*sim.World){
		"publishes": func(w *sim.World) {
			stream(w)
			w.Node("n", func(p *sim.Process) {
				at(p, func(what string) { _, _ = p.JetStream().Publish(p.Context(), "s", []byte(what)) })
			}).Start()
		},
		"sends": func(w *sim.World) {
			w.Node("hears", func(p *sim.Process) {
				_, _ = p.NATS().Subscribe("s", func(m *nats.Msg) { p.Redis().RPush(p.Context(), "heard", string(m.Data)) })
			}).Start()
			w.Node("n", func(p *sim.Process) { at(p, func(what string) { _ = p.NATS().Publish("s", []byte(what)) }) }).Start()
		},
		"calls": func(w *sim.World) {
			w.Node("server", func(p *sim.Process) {
				p.Serve(func(s grpc.ServiceRegistrar) { grpc_health_v1.RegisterHealthServer(s, wards{p: p}) })
			}).Start()
			w.Node("n", func(p *sim.Process) {
				c := grpc_health_v1.NewHealthClient(p.Dial("server"))
				at(p, func(what string) {
					_, _ = c.Check(p.Context(), &grpc_health_v1.HealthCheckRequest{Service: what})
				})
			}).Start()
		},
		"consumers": func(w *sim.World) {
			js := stream(w)
			for _, name := range []string{"mailer", "biller"} {
				_, err := js.CreateConsumer(context.Background(), "S", jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckExplicitPolicy})
				require.NoError(t, err)
			}
			w.Node("hears", func(p *sim.Process) {
				for _, name := range []string{"mailer", "biller"} {
					go func() {
						c, err := p.JetStream().Consumer(p.Context(), "S", name)
						assert.NoError(t, err)
						for p.Context().Err() == nil {
							if m, err := c.Next(jetstream.FetchMaxWait(30 * time.Second)); err == nil {
								p.Redis().Incr(p.Context(), name+":"+string(m.Data()))
								_ = m.Ack()
							}
						}
					}()
				}
			}).Start()
			w.Node("n", func(p *sim.Process) {
				at(p, func(what string) { _, _ = p.JetStream().Publish(p.Context(), "s", []byte(what)) })
			}).Start()
		},
		"subscriptions": func(w *sim.World) {
			w.Node("hears", func(p *sim.Process) {
				for _, s := range []string{"a.*", "*.b"} {
					_, _ = p.NATS().Subscribe(s, func(m *nats.Msg) { p.Redis().Incr(p.Context(), s+string(m.Data)) })
				}
			}).Start()
			w.Node("n", func(p *sim.Process) { at(p, func(what string) { _ = p.NATS().Publish("a.b", []byte(what)) }) }).Start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
			var first []byte
			for i := range 40 {
				runtime.GOMAXPROCS(1 + i%2)
				var trace bytes.Buffer
				_, err := sim.Run(sim.Config{Seed: 9, Trace: &trace}, func(w *sim.World) error {
					start(w)
					w.Step(30*time.Second, nil)
					return w.CheckTruth()
				})
				require.NoError(t, err)
				if first == nil {
					first = bytes.Clone(trace.Bytes())
					assert.Greater(t, bytes.Count(first, []byte("\n")), 60)
				}
				line, a, b, err := sim.FirstDifference(bytes.NewReader(first), &trace)
				require.NoError(t, err)
				require.Zero(t, line, "run %d:\n%s\n%s", i, a, b)
			}
		})
	}
}
