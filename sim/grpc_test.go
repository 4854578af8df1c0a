package sim

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// doctor answers calls, each after a while on its own clock.
type doctor struct {
	grpc_health_v1.UnimplementedHealthServer
	p     *Process
	takes time.Duration
}

func (d doctor) Check(context.Context, *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if d.takes > 0 {
		d.p.Clock().Sleep(d.takes)
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

// clinic has one server, and clients that ask it at their times, each waiting for two seconds.
func clinic(t *testing.T, takes time.Duration, asks []time.Duration, move func(*World)) (sum Summary, answers []string, events []Event) {
	t.Helper()
	sum, err := Run(Config{Observe: func(e *Event) { events = append(events, *e) }}, func(w *World) error {
		w.Node("doctor", func(p *Process) {
			p.Serve(func(s grpc.ServiceRegistrar) { grpc_health_v1.RegisterHealthServer(s, doctor{p: p, takes: takes}) })
		}).Start()
		answers = make([]string, len(asks))
		for i, at := range asks {
			w.Node(fmt.Sprintf("client-%d", i+1), func(p *Process) {
				client := grpc_health_v1.NewHealthClient(p.Dial("doctor"))
				p.Clock().Sleep(at)
				ctx, cancel := context.WithTimeout(p.Context(), 2*time.Second)
				defer cancel()
				_, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "ward"})
				answers[i] = status.Code(err).String() + fmt.Sprintf(" at %v", w.Now().Round(time.Second))
			}).Start()
		}
		move(w)
		w.Step(time.Minute, func() bool { return false })
		return nil
	})
	require.NoError(t, err)
	return sum, answers, events
}

func calls(events []Event) (list []string) {
	for _, e := range events {
		if e.Kind == KindCall || e.Kind == KindServe || e.Kind == KindReturn {
			list = append(list, fmt.Sprintf("%s %s %s %s", e.Node, e.Kind, e.Name, e.Outcome))
		}
	}
	return list
}

func TestACallIsAStep(t *testing.T) {
	_, answers, events := clinic(t, 0, []time.Duration{5 * time.Second}, func(*World) {})
	assert.Equal(t, []string{"OK at 5s"}, answers)
	assert.Equal(t, []string{"client-1 call Check ok"}, calls(events))
	for _, e := range events {
		if e.Kind == KindCall {
			assert.Equal(t, "doctor", e.Target)
			assert.JSONEq(t, `{"status":1}`, e.Data)
			assert.Equal(t, `{"service":"ward"}`, e.Asked)
		}
	}
}

// An event says what a call asks, but for bytes, of which it has the gist.
func TestAnEventHasWhatACallAsks(t *testing.T) {
	assert.Equal(t, `{"value":"sha256:2bb80d537b1da3e3 of 6 bytes"}`, questionOf(wrapperspb.Bytes([]byte("secret"))))
	assert.Equal(t, `{"value":"secret"}`, questionOf(wrapperspb.String("secret")))
	assert.Equal(t, `{"paths":["a","b"]}`, questionOf(&fieldmaskpb.FieldMask{Paths: []string{"a", "b"}}))
	assert.Equal(t, `3`, questionOf(3))
}

func TestAServerThatTakesItsTimeLetsOthersGoFirst(t *testing.T) {
	_, answers, events := clinic(t, time.Second, []time.Duration{5 * time.Second, 5500 * time.Millisecond}, func(*World) {})
	assert.Equal(t, []string{"OK at 6s", "OK at 7s"}, answers)
	assert.Equal(t, []string{"client-1 call Check pending", "client-2 call Check pending", "client-1 return Check ok", "client-2 return Check ok"}, calls(events))
}

func TestACallToAPausedServerWaits(t *testing.T) {
	pause := func(d time.Duration) func(*World) {
		return func(w *World) { w.At(4*time.Second, "pause", "doctor", func() { w.Find("doctor").Pause(d) }) }
	}
	_, answers, events := clinic(t, 0, []time.Duration{5 * time.Second}, pause(2*time.Second))
	assert.Equal(t, []string{"OK at 6s"}, answers)
	assert.Equal(t, []string{"client-1 call Check pending", "doctor serve Check ok", "client-1 return Check ok"}, calls(events))

	_, answers, _ = clinic(t, 0, []time.Duration{5 * time.Second, 8 * time.Second}, pause(4*time.Second))
	assert.Equal(t, []string{"DeadlineExceeded at 7s", "OK at 8s"}, answers)
}

// A server learns that its caller's time is over by a timer of its own, too. gRPC tells it how long that is in whole
// microseconds, rounded up: where they are whole as the call is made, both end at one instant, in either order.
func TestAPausedServerFindsItsCallersGone(t *testing.T) {
	var outcomes []string
	_, err := Run(Config{Strategy: Random{}, Observe: func(e *Event) {
		if e.Kind == KindServe {
			outcomes = append(outcomes, e.Outcome)
		}
	}}, func(w *World) error {
		w.Node("doctor", func(p *Process) {
			p.Serve(func(s grpc.ServiceRegistrar) { grpc_health_v1.RegisterHealthServer(s, doctor{p: p}) })
		}).Start()
		w.At(time.Second, "pause", "doctor", func() { w.Find("doctor").Pause(time.Hour) })
		w.Node("client", func(p *Process) {
			client := grpc_health_v1.NewHealthClient(p.Dial("doctor"))
			p.Clock().Sleep(2 * time.Second)
			for n := range 500 {
				ctx, cancel := context.WithTimeout(p.Context(), 2*time.Second+time.Duration(n%5))
				_, _ = client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
				cancel()
			}
		}).Start()
		w.Step(2*time.Hour, func() bool { return false })
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, slices.Repeat([]string{"context canceled"}, 500), outcomes)
}

func TestACallToAServerThatIsDownFailsAtOnce(t *testing.T) {
	_, answers, _ := clinic(t, time.Second, []time.Duration{time.Second, 5 * time.Second, 8 * time.Second, 20 * time.Second}, func(w *World) {
		w.At(5500*time.Millisecond, "crash", "doctor", w.Find("doctor").Crash) // in the middle of the second call
		w.At(10*time.Second, "restart", "doctor", w.Find("doctor").Start)
	})
	assert.Equal(t, []string{"OK at 2s", "Unavailable at 6s", "Unavailable at 8s", "OK at 21s"}, answers)
}

func TestACallerMayDieInTheMiddle(t *testing.T) {
	_, answers, _ := clinic(t, time.Second, []time.Duration{5 * time.Second, 7 * time.Second}, func(w *World) {
		w.At(5500*time.Millisecond, "crash", "client-1", w.Find("client-1").Crash)
	})
	assert.Equal(t, []string{"", "OK at 8s"}, answers)
}

func TestCallsAreDeterministic(t *testing.T) {
	asks := []time.Duration{5 * time.Second, 5 * time.Second, 5001 * time.Millisecond, 9 * time.Second}
	move := func(w *World) {
		w.At(5200*time.Millisecond, "pause", "doctor", func() { w.Find("doctor").Pause(time.Second) })
	}
	first, answers, _ := clinic(t, 300*time.Millisecond, asks, move)
	for range 20 {
		again, now, _ := clinic(t, 300*time.Millisecond, asks, move)
		require.Equal(t, first, again)
		require.Equal(t, answers, now)
	}
}

func TestAWorldRefusesStreams(t *testing.T) {
	_, err := Run(Config{}, func(w *World) error {
		var refused error
		w.Node("client", func(p *Process) { _, refused = p.Dial("doctor").NewStream(p.Context(), nil, "/x/Watch") }).Start()
		w.Step(time.Second, func() bool { return refused != nil })
		assert.Equal(t, codes.Unimplemented, status.Code(refused))
		return nil
	})
	require.NoError(t, err)
}
