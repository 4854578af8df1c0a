package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/sim"
)

// What was published within the lag is lost, and its publisher goes on as if it were there.
func TestPowerLossOfNATS(t *testing.T) {
	var got []uint64
	in, events := world(t, []faults.Fault{
		{At: 10*time.Second + 500*time.Millisecond, Do: faults.PowerLoss, Node: faults.NATS, Lag: 3 * time.Second},
		{After: &faults.Match{Phase: "publish", Occurrence: 20}, Do: faults.PowerLoss, Node: faults.NATS, Lag: time.Millisecond, For: 5 * time.Second},
	}, func(w *sim.World, in *faults.Injector) {
		_, err := w.JetStream().CreateStream(context.Background(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.FileStorage})
		require.NoError(t, err)
		w.Node("n", func(p *sim.Process) {
			for range 30 {
				p.Clock().Sleep(time.Second)
				if ack, err := p.JetStream().Publish(tagged(p.Context(), "", "publish"), "s", nil); err == nil {
					got = append(got, ack.Sequence)
				}
			}
		}).Start()
		w.Step(2*time.Minute, nil)
		assert.True(t, in.Quiet())
		assert.NoError(t, w.CheckTruth())
	})
	assert.Equal(t, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 8, 9, 10, 11, 12, 13, 14, 15, 15, 16, 17, 18}, got)
	require.Len(t, in.Fired(), 2)
	assert.Equal(t, 5*time.Second, (in.Fired()[1].Until - in.Fired()[1].At).Round(time.Second))
	assert.Empty(t, in.Unfired())
	var lost []uint64
	for _, e := range events {
		if e.Kind == sim.KindControl && e.Name+" "+e.Target == "power-loss nats" {
			for _, c := range e.Changes {
				assert.True(t, c.Gone)
				lost = append(lost, c.Seq)
			}
		}
	}
	assert.Equal(t, []uint64{8, 9, 10, 15}, lost)
}

// A server that is away has no power to lose.
func TestPowerLossOfAServerThatIsAway(t *testing.T) {
	in, _ := world(t, []faults.Fault{
		{At: 5 * time.Second, Do: faults.Restart, Node: faults.NATS, For: 10 * time.Second},
		{At: 7 * time.Second, Do: faults.PowerLoss, Node: faults.NATS, Lag: 3 * time.Second},
	}, func(w *sim.World, _ *faults.Injector) { w.Step(30*time.Second, nil) })
	require.Len(t, in.Fired(), 1)
	assert.Equal(t, faults.Restart, in.Fired()[0].Fault.Do)
	assert.Equal(t, []string{"power-loss of nats at 7s, which takes what was stored in the last 3s: never, as nats-server was down"}, unfired(in))
}
