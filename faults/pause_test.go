package faults_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/sim"
)

func TestPauseAfterAnOperation(t *testing.T) {
	var learned, other []int
	in, events := world(t, []faults.Fault{{After: on(1, "save", 1), Do: faults.Pause, Node: faults.Actor, For: 90 * time.Second}},
		func(w *sim.World, in *faults.Injector) {
			n := func(at *[]int) func(*sim.Process) {
				return func(p *sim.Process) {
					for range 2 {
						assert.NoError(t, write(p, "order-1", "save", p.Node()))
						*at = append(*at, int(w.Now()/time.Second))
					}
				}
			}
			w.Node("n", n(&learned)).Start()
			w.Step(time.Second, nil)
			assert.Equal(t, "n", w.Redis()["order-1"][""], "it was applied")
			assert.Empty(t, learned, "its caller has not learned so")
			assert.False(t, in.Quiet())
			w.Node("other", n(&other)).Start()
			w.Step(2*time.Minute, nil)
			assert.True(t, in.Quiet())
		})
	assert.Equal(t, []int{90, 90}, learned, "the write's own deadline of 2 s is none of its caller's concern: the answer was there")
	assert.Equal(t, []int{1, 1}, other, "another node goes on")
	fired := in.Fired()[0]
	assert.Equal(t, 90*time.Second, fired.Until-fired.At)
	assert.Equal(t, fired.Until, in.Last())
	var told []string
	for _, e := range events {
		if e.Kind == sim.KindControl || e.Kind == sim.KindReturn {
			told = append(told, string(e.Kind)+" "+e.Name+" "+e.Target+" "+e.Outcome)
		}
	}
	assert.Equal(t, []string{"control pause n ok", "control resume n ok", "return set order-1 ok"}, told)
	assert.Empty(t, in.Unfired())
}

// A call that has not set out when its node pauses finds its deadline passed, and never does.
func TestPauseAtATime(t *testing.T) {
	var failed []int
	in, _ := world(t, []faults.Fault{{At: 5 * time.Second, Do: faults.Pause, Node: "n", For: 10 * time.Second}}, func(w *sim.World, _ *faults.Injector) {
		w.Node("n", func(p *sim.Process) {
			for i := range 5000 {
				if err := write(p, "order-1", "save", strconv.Itoa(i)); err != nil {
					assert.ErrorIs(t, err, context.DeadlineExceeded)
					failed = append(failed, int(w.Now()/time.Second))
				}
				if w.Now() > 20*time.Second {
					return
				}
				p.Clock().Sleep(time.Millisecond)
			}
		}).Start()
		w.Step(time.Minute, nil)
	})
	for _, at := range failed {
		assert.Equal(t, 15, at)
	}
	assert.LessOrEqual(t, len(failed), 1)
	assert.Len(t, in.Fired(), 1)
}

func TestPauseOfANodeThatIsDown(t *testing.T) {
	in, _ := world(t, []faults.Fault{
		{At: 5 * time.Second, Do: faults.Crash, Node: "n"},
		{At: 6 * time.Second, Do: faults.Pause, Node: "n", For: time.Second},
	}, func(w *sim.World, _ *faults.Injector) {
		w.Node("n", func(p *sim.Process) { <-p.Context().Done() }).Start()
		w.Step(time.Minute, nil)
	})
	assert.Equal(t, []string{"pause of n at 6s for 1s: never, as n was down"}, unfired(in))
}

// A node that has not started yet is not down: nothing took it down. When it did start helps to set the fault's time.
func TestFaultsOnANodeThatHasNotStarted(t *testing.T) {
	in, events := world(t, []faults.Fault{
		{At: time.Second, Do: faults.Crash, Node: "late"},
		{At: time.Second, Do: faults.Pause, Node: "never", For: time.Second},
		{At: 6 * time.Second, Do: faults.Crash, Node: "late"},
		{At: 7 * time.Second, Do: faults.Crash, Node: "late"},
	}, func(w *sim.World, _ *faults.Injector) {
		w.Node("never", func(*sim.Process) {})
		w.Step(5*time.Second, nil)
		w.Node("late", func(p *sim.Process) { <-p.Context().Done() }).Start()
		w.Step(time.Minute, nil)
	})
	var start time.Duration
	for _, e := range events {
		if e.Kind == sim.KindStart {
			start = e.At.Round(time.Millisecond)
		}
	}
	require.NotZero(t, start)
	assert.Equal(t, []string{
		"crash of late at 1s: never, as late had not started yet; it did at " + start.String(),
		"pause of never at 1s for 1s: never, as never had not started yet",
		"crash of late at 7s: never, as late was down",
	}, unfired(in))
}

// What the server sends a paused node counts as delivered; another node gets it after AckWait, and the
// paused one handles it all the same when it goes on.
func TestPauseWithAPullUnderWay(t *testing.T) {
	var handled []string
	_, _ = world(t, []faults.Fault{{At: 5 * time.Second, Do: faults.Pause, Node: "a", For: time.Minute}}, func(w *sim.World, _ *faults.Injector) {
		js := w.JetStream()
		_, err := js.CreateStream(context.Background(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.MemoryStorage})
		require.NoError(t, err)
		_, err = js.CreateConsumer(context.Background(), "S", jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 20 * time.Second})
		require.NoError(t, err)
		pull := func(p *sim.Process) {
			c, err := p.JetStream().Consumer(p.Context(), "S", "c")
			require.NoError(t, err)
			m, err := c.Next(jetstream.FetchMaxWait(2 * time.Minute))
			require.NoError(t, err)
			md, err := m.Metadata()
			require.NoError(t, err)
			handled = append(handled, p.Node()+" "+strconv.Itoa(int(md.NumDelivered))+" at "+w.Now().Round(time.Second).String())
			_ = m.Ack()
		}
		w.Node("a", pull).Start()
		w.Step(4*time.Second, nil)
		w.Node("b", pull).Start()
		w.At(10*time.Second, "publish", "s", func() { _, _ = js.Publish(context.Background(), "s", nil) })
		w.Step(3*time.Minute, nil)
	})
	assert.Equal(t, []string{"b 2 at 30s", "a 1 at 1m5s"}, handled)
}

// A pause is its process's: the one after a crash is not paused, and the strike is over.
func TestAPauseEndsWithItsProcess(t *testing.T) {
	in, events := world(t, []faults.Fault{
		{At: 5 * time.Second, Do: faults.Pause, Node: "n", For: 5 * time.Minute},
		{At: 6 * time.Second, Do: faults.Crash, Node: "n", RestartIn: time.Second},
	}, func(w *sim.World, in *faults.Injector) {
		w.Node("n", func(p *sim.Process) { p.Clock().Sleep(time.Hour) }).Start()
		w.Step(20*time.Second, nil)
		assert.True(t, in.Quiet())
		w.Step(10*time.Minute, nil)
	})
	assert.Equal(t, time.Second, (in.Fired()[0].Until - in.Fired()[0].At).Round(time.Millisecond))
	var told []string
	for _, e := range events {
		if e.Kind == sim.KindControl {
			told = append(told, e.At.Round(time.Millisecond).String()+" "+e.Name)
		}
	}
	assert.Equal(t, []string{"5s pause", "6s crash", "6s resume", "7s restart"}, told)
}
