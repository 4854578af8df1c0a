package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// onNode runs f as the only process of a world, for at most an hour of its time.
func onNode(t *testing.T, skew time.Duration, f func(*sim.World, *sim.Process)) {
	t.Helper()
	_, err := sim.Run(sim.Config{Seed: 1, Strategy: sim.Random{}}, func(w *sim.World) error {
		done := false
		n := w.Node("n", func(p *sim.Process) { f(w, p); done = true })
		n.Skew(skew)
		n.Start()
		assert.Equal(t, sim.StopDone, w.Step(time.Hour, func() bool { return done }))
		return nil
	})
	require.NoError(t, err)
}

func TestTimerStopAndReset(t *testing.T) {
	onNode(t, 0, func(w *sim.World, p *sim.Process) {
		tm := p.Clock().NewTimer(time.Second)
		assert.True(t, tm.Stop())
		assert.False(t, tm.Stop())
		p.Clock().Sleep(2 * time.Second)
		assert.Empty(t, tm.Chan(), "a stopped timer does not fire")

		assert.False(t, tm.Reset(time.Second))
		p.Clock().Sleep(2 * time.Second)
		assert.Len(t, tm.Chan(), 1)
		assert.False(t, tm.Reset(time.Second), "it had fired")
		assert.Empty(t, tm.Chan(), "a reset leaves no stale value")
		<-tm.Chan()
	})
}

func TestTickerAndAfterFunc(t *testing.T) {
	onNode(t, 0, func(w *sim.World, p *sim.Process) {
		began := w.Now()
		tick := p.Clock().NewTicker(2 * time.Second)
		for range 3 {
			<-tick.Chan()
		}
		assert.Equal(t, 6*time.Second, (w.Now() - began).Round(time.Millisecond))
		tick.Reset(time.Second)
		<-tick.Chan()
		assert.Equal(t, 7*time.Second, (w.Now() - began).Round(time.Millisecond))
		tick.Stop()

		fired := make(chan time.Duration, 1)
		p.Clock().AfterFunc(time.Second, func() { fired <- w.Now() })
		assert.Equal(t, 8*time.Second, (<-fired - began).Round(time.Millisecond))
		stopped := p.Clock().AfterFunc(time.Second, func() { t.Error("it was stopped") })
		assert.True(t, stopped.Stop())
		<-p.Clock().After(3 * time.Second)
	})
}

func TestAClockThatIsSet(t *testing.T) {
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		onNode(t, 0, func(w *sim.World, p *sim.Process) {
			before := p.Clock().Now()
			w.Find("n").Skew(ahead)
			p.Clock().Sleep(10 * time.Second)
			after := p.Clock().Now()
			assert.Equal(t, 10*time.Second, after.Sub(before).Round(time.Second), "the monotonic clock runs on")
			assert.Equal(t, 10*time.Second, p.Clock().Since(before).Round(time.Second))
			assert.True(t, after.After(before))
			assert.Equal(t, ahead+10*time.Second, after.Round(0).Sub(before.Round(0)).Round(time.Second), "the wall clock was set")
			assert.Equal(t, w.Started().Add(w.Now()+ahead).UnixNano(), p.Clock().Now().UnixNano())
		})
	}
}

func TestATickerKeepsToItsBeat(t *testing.T) {
	_, err := sim.Run(sim.Config{Seed: 1}, func(w *sim.World) error { // latencies delay each tick
		w.Node("n", func(p *sim.Process) {
			began := w.Now()
			tick := p.Clock().NewTicker(time.Second)
			for range 1000 {
				<-tick.Chan()
			}
			assert.Equal(t, 1000*time.Second, (w.Now() - began).Round(10*time.Millisecond))
		}).Start()
		w.Step(time.Hour, nil)
		return nil
	})
	require.NoError(t, err)
}

func TestAPauseEndsWithItsProcess(t *testing.T) {
	_, err := sim.Run(sim.Config{Seed: 1}, func(w *sim.World) error {
		var started []time.Duration
		n := w.Node("n", func(p *sim.Process) { started = append(started, w.Now().Round(time.Second)) })
		n.Start()
		w.Step(time.Second, nil)
		n.Pause(time.Hour)
		n.Pause(time.Second) // the longer one counts
		n.Crash()
		n.Start()
		w.Step(time.Minute, nil)
		assert.Len(t, started, 2)
		return nil
	})
	require.NoError(t, err)
}

// A handler that finishes whatever happens to its context waits for its timer only. Its process may
// crash at any moment of that, and the run must end all the same.
func TestWhoWaitsForATimerAloneEndsWithItsProcess(t *testing.T) {
	for name, crash := range map[string]func(w *sim.World, n *sim.Node){
		"while it runs":     func(w *sim.World, n *sim.Node) { w.Step(time.Second, nil); n.Crash() },
		"when it has fired": func(w *sim.World, n *sim.Node) { n.Pause(time.Hour); w.Step(3*time.Minute, nil); n.Crash() },
		"as the world ends": func(w *sim.World, _ *sim.Node) { w.Step(time.Second, nil) },
		"and starts it anew": func(w *sim.World, n *sim.Node) {
			w.Step(time.Second, nil)
			n.Crash()
			n.Start()
			w.Step(2*time.Second, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sim.Run(sim.Config{Seed: 1}, func(w *sim.World) error {
				n := w.Node("actor", func(p *sim.Process) {
					timer := p.Clock().NewTimer(time.Minute)
					<-timer.Chan()
					p.Clock().Sleep(time.Second)
					if p.Incarnation() == 1 {
						t.Error("went on after its end")
					}
				})
				n.Start()
				crash(w, n)
				return nil
			})
			require.NoError(t, err)
		})
	}
}
