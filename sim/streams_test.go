package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// stored lists what the steps of a run were seen to store, as "kind stream/seq=data".
func storedIn(t *testing.T, cfg sim.Config, main func(*sim.Process)) (list []string) {
	t.Helper()
	cfg.Observe = func(e *sim.Event) {
		for _, c := range e.Changes {
			list = append(list, fmt.Sprintf("%s %s/%d=%s", e.Kind, c.Stream, c.Seq, c.Value))
		}
	}
	_, err := sim.Run(cfg, func(w *sim.World) error {
		w.Node("n", main).Start()
		w.Step(10*time.Second, nil)
		return w.CheckTruth()
	})
	require.NoError(t, err)
	return list
}

// A stream that is deleted and made again is another one, of which everything is seen.
func TestAStreamThatIsMadeAgain(t *testing.T) {
	list := storedIn(t, sim.Config{}, func(p *sim.Process) {
		js := p.JetStream()
		for i := range 3 {
			_, err := js.CreateStream(p.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.MemoryStorage})
			assert.NoError(t, err)
			_, err = js.Publish(p.Context(), "s", fmt.Append(nil, i))
			assert.NoError(t, err)
			assert.NoError(t, js.DeleteStream(p.Context(), "S"))
		}
		s, err := js.CreateOrUpdateStream(p.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.MemoryStorage})
		assert.NoError(t, err)
		_, err = js.Publish(p.Context(), "s", []byte("last"))
		assert.NoError(t, err)
		assert.NoError(t, s.Purge(p.Context()))
	})
	assert.Equal(t, []string{"publish S/1=0", "publish S/1=1", "publish S/1=2", "publish S/1=last"}, list)
}

// What is under way is a copy, and is seen when it arrives.
func TestASendThatIsUnderWayIntoAStream(t *testing.T) {
	list := storedIn(t, sim.Config{Lag: func(*sim.Op) time.Duration { return time.Second }}, func(p *sim.Process) {
		_, err := p.JetStream().CreateStream(p.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.MemoryStorage})
		assert.NoError(t, err)
		data := []byte("as it was")
		assert.NoError(t, p.NATS().Publish("s", data))
		copy(data, "not as it")
	})
	assert.Equal(t, []string{"control S/1=as it was"}, list)
}

// What a service has paused stays paused over a restart of nats-server.
func TestAPausedConsumerOverARestart(t *testing.T) {
	for name, restart := range map[string]func(*sim.World){
		"restart": func(w *sim.World) { w.RestartNATS(time.Second, nil) },
		"kill":    func(w *sim.World) { w.KillNATS(time.Second, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sim.Run(sim.Config{}, func(w *sim.World) error {
				ctx := context.Background()
				_, err := w.JetStream().CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.FileStorage})
				require.NoError(t, err)
				w.Node("n", func(p *sim.Process) {
					for _, name := range []string{"paused", "runs"} {
						_, err := p.JetStream().CreateConsumer(p.Context(), "S", jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckExplicitPolicy})
						assert.NoError(t, err)
					}
					_, err := p.JetStream().PauseConsumer(p.Context(), "S", "paused", w.Started().Add(time.Hour))
					assert.NoError(t, err)
				}).Start()
				w.At(5*time.Second, "stop", sim.NATS, func() { restart(w) })
				w.Step(30*time.Second, nil)
				for _, name := range []string{"paused", "runs"} {
					c, err := w.JetStream().Consumer(ctx, "S", name)
					require.NoError(t, err)
					assert.Equal(t, name == "paused", c.CachedInfo().Paused, name)
				}
				return nil
			})
			require.NoError(t, err)
		})
	}
}

// What may be reordered errs on the side of too much in common.
func TestWhatOperationsOnStreamsHaveInCommon(t *testing.T) {
	uses := map[string]string{}
	_, err := sim.Run(sim.Config{Intercept: func(_ context.Context, op *sim.Op, apply func() error) error {
		uses[fmt.Sprint(op.Kind, " ", op.Name, " ", op.Target)] = fmt.Sprint(op.Uses())
		return apply()
	}}, func(w *sim.World) error {
		w.Node("n", func(p *sim.Process) {
			js, ctx := p.JetStream(), p.Context()
			assert.NoError(t, p.NATS().Publish("nowhere", nil))
			_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.*"}, Storage: jetstream.MemoryStorage})
			assert.NoError(t, err)
			c, err := js.CreateConsumer(ctx, "S", jetstream.ConsumerConfig{Name: "named", AckPolicy: jetstream.AckExplicitPolicy, InactiveThreshold: time.Hour})
			assert.NoError(t, err)
			assert.NoError(t, p.NATS().Publish("s.x", nil))
			m, err := c.Next(jetstream.FetchMaxWait(time.Second))
			if assert.NoError(t, err) {
				assert.NoError(t, m.Ack())
			}
			_, err = c.Info(ctx)
			assert.NoError(t, err)
		}).Start()
		w.Step(10*time.Second, nil)
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{
		"deliver  s.x":               "[]",
		"send  nowhere":              "[{core nowhere true} {subjects * false}]",
		"api CreateStream S":         "[{jetstream true} {subjects * true}]",
		"api CreateConsumer S/named": "[{jetstream false} {consumer S/named true}]",
		"send  s.x":                  "[{core s.x true} {subjects * false} {jetstream true}]",
		"fetch  S/named":             "[{jetstream false} {consumer S/named true}]",
		"ack  s.x":                   "[{jetstream false} {consumer S/named true}]",
		"api ConsumerInfo S/named":   "[{jetstream false} {consumer S/named false}]",
	}, uses)
}

// The process of a node that was paused before it ran begins when the pause is over.
func TestAPausedNodeStartsLater(t *testing.T) {
	_, err := sim.Run(sim.Config{}, func(w *sim.World) error {
		var began time.Duration
		n := w.Node("n", func(p *sim.Process) { began = w.Now() })
		n.Start()
		n.Pause(time.Minute)
		w.Step(2*time.Minute, nil)
		assert.GreaterOrEqual(t, began, time.Minute)
		return nil
	})
	require.NoError(t, err)
}

// A step that was cancelled is none.
func TestACancelledStep(t *testing.T) {
	var taken []string
	_, err := sim.Run(sim.Config{Observe: func(e *sim.Event) { taken = append(taken, e.Name) }}, func(w *sim.World) error {
		never := w.At(2*time.Second, "never", "n", func() { t.Error("it was cancelled") })
		cancel := w.At(time.Second, "once", "n", never)
		w.Step(time.Minute, nil)
		cancel() // it has been taken
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"once"}, taken)
}
