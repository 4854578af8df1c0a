package faults_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/sim"
)

// The message comes a second time while the first delivery is being handled, and either's ack is for good.
func TestADeliveryIsDuplicated(t *testing.T) {
	var handled []string
	in, events := world(t, []faults.Fault{{On: on(0, "s.x_deliver", 1), Do: faults.Duplicate}}, func(w *sim.World, _ *faults.Injector) {
		js := natsWorld(t, w)
		w.At(10*time.Second, "publish", "s.x", func() { _, _ = js.Publish(context.Background(), "s.x", nil) })
		pull := func(p *sim.Process) {
			c, err := p.JetStream().Consumer(p.Context(), "S", "c")
			assert.NoError(t, err)
			for p.Context().Err() == nil {
				m, err := c.Next(jetstream.FetchMaxWait(30 * time.Second))
				if err != nil {
					continue
				}
				md, err := m.Metadata()
				assert.NoError(t, err)
				handled = append(handled, fmt.Sprint("delivery ", md.NumDelivered, " at ", w.Now().Round(time.Second)))
				p.Clock().Sleep(2 * time.Second)
				assert.NoError(t, m.Ack())
			}
		}
		w.Node("a", pull).Start()
		w.Node("b", pull).Start()
		w.Step(5*time.Minute, nil)
	})
	assert.Equal(t, []string{"delivery 1 at 10s", "delivery 2 at 10s"}, handled)
	require.Len(t, in.Fired(), 1)
	assert.Empty(t, in.Unfired())
	var nodes []string
	for _, e := range events {
		if e.Kind == sim.KindDeliver {
			nodes = append(nodes, e.Node)
		}
	}
	assert.ElementsMatch(t, []string{"a", "b"}, nodes, "another has the second delivery while the first is at it")
}

// Whoever acknowledges the message before anybody asks for more is not given it again.
func TestADuplicateThatNobodyAskedForInTime(t *testing.T) {
	deliveries := 0
	world(t, []faults.Fault{{On: on(0, "s.x_deliver", 1), Do: faults.Duplicate}}, func(w *sim.World, _ *faults.Injector) {
		js := natsWorld(t, w)
		w.At(10*time.Second, "publish", "s.x", func() { _, _ = js.Publish(context.Background(), "s.x", nil) })
		w.Node("a", func(p *sim.Process) {
			c, err := p.JetStream().Consumer(p.Context(), "S", "c")
			assert.NoError(t, err)
			for p.Context().Err() == nil {
				if m, err := c.Next(jetstream.FetchMaxWait(30 * time.Second)); err == nil {
					deliveries++
					assert.NoError(t, m.Ack())
				}
			}
		}).Start()
		w.Step(5*time.Minute, nil)
	})
	assert.Equal(t, 1, deliveries)
}
