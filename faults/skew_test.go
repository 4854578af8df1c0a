package faults_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/sim"
)

// A clock is wrong for as long as the fault says, or until the heal; of two faults the later one counts.
func TestSkew(t *testing.T) {
	var wrong []time.Duration
	in, events := world(t, []faults.Fault{
		{At: 2500 * time.Millisecond, Do: faults.Skew, Node: "n", By: time.Hour, For: 2 * time.Second},
		{After: &faults.Match{Phase: "tick_write", Occurrence: 6}, Do: faults.Skew, Node: faults.Actor, By: time.Minute, For: 2 * time.Second},
		{At: 7500 * time.Millisecond, Do: faults.Skew, Node: "n", By: -time.Minute},
	}, func(w *sim.World, in *faults.Injector) {
		w.Node("n", func(p *sim.Process) {
			for range 12 {
				p.Clock().Sleep(time.Second)
				wrong = append(wrong, p.Clock().Now().Sub(w.Started().Add(w.Now())))
				p.Redis().Incr(tagged(p.Context(), "", "tick_write"), "tick")
			}
		}).Start()
		w.Step(10*time.Second, nil)
		assert.True(t, in.Quiet())
		in.Heal(w)
		w.Step(20*time.Second, nil)
		assert.NoError(t, w.CheckTruth())
	})
	const h, m = time.Hour, time.Minute
	assert.Equal(t, []time.Duration{0, 0, h, h, 0, 0, m, -m, -m, 0, 0, 0}, wrong)
	require.Len(t, in.Fired(), 3)
	assert.Empty(t, in.Unfired())
	assert.Less(t, in.Fired()[1].Until, 8*time.Second, "it ends where the next begins")
	assert.Equal(t, []bool{true, false, true}, []bool{in.Freed(0), in.Freed(1), in.Freed(2)}, "and there the clock is not right again")
	var controls []string
	for _, e := range events {
		if e.Kind == sim.KindControl {
			controls = append(controls, e.Name+" "+e.Target)
		}
	}
	assert.Equal(t, []string{"skew n", "set clock n", "skew n", "skew n", "set clock n", "set clock n"}, controls)
}
