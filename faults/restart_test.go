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

func TestRestartOfNATS(t *testing.T) {
	var failed, got []int
	in, events := world(t, []faults.Fault{
		{At: 10 * time.Second, Do: faults.Restart, Node: faults.NATS},
		{After: &faults.Match{Phase: "publish", Occurrence: 30}, Do: faults.Restart, Node: faults.NATS, For: 5 * time.Second},
	}, func(w *sim.World, in *faults.Injector) {
		_, err := w.JetStream().CreateStream(context.Background(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.FileStorage})
		require.NoError(t, err)
		w.Node("n", func(p *sim.Process) {
			for range 50 {
				p.Clock().Sleep(time.Second)
				if _, err := p.JetStream().Publish(tagged(p.Context(), "", "publish"), "s", nil); err != nil {
					failed = append(failed, int(w.Now()/time.Second))
				} else {
					got = append(got, int(w.Now()/time.Second))
				}
			}
		}).Start()
		w.Step(32*time.Second, nil)
		assert.False(t, in.Quiet())
		w.Step(2*time.Minute, nil)
		assert.True(t, in.Quiet())
		assert.NoError(t, w.CheckTruth())
		s, err := w.JetStream().Stream(context.Background(), "S")
		require.NoError(t, err)
		assert.EqualValues(t, len(got), s.CachedInfo().State.Msgs)
	})
	assert.Equal(t, []int{10, 11, 12, 31, 32, 33, 34, 35, 36}, failed, "until the client has connected again, two seconds after the server is there")
	require.Len(t, in.Fired(), 2)
	assert.Equal(t, 5*time.Second, (in.Fired()[1].Until - in.Fired()[1].At).Round(time.Second))
	var controls []string
	for _, e := range events {
		if e.Kind == sim.KindControl {
			controls = append(controls, e.Name+" "+e.Target)
		}
	}
	again := []string{"stop nats", "start nats", "reconnect n"}
	assert.Equal(t, append(again, again...), controls)
	assert.Empty(t, in.Unfired())
}
