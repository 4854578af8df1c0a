package sim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/sim"
)

// orders is a world of three competing consumers, a publisher, heartbeats over core NATS and a
// crash: everything whose order the stepper has to own.
func orders(w *sim.World, rogue func() int) error {
	ctx := context.Background()
	_, err := w.JetStream().CreateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}, Storage: jetstream.MemoryStorage})
	if err != nil {
		return err
	}
	_, err = w.JetStream().CreateConsumer(ctx, "ORDERS", jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Minute})
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for i := range 3 {
		w.Node(fmt.Sprintf("consumer-%d", i+1), func(p *sim.Process) { consume(p, done, rogue) }).Start()
	}
	w.Node("shop", func(p *sim.Process) {
		for i := range 20 {
			p.Clock().Sleep(700 * time.Millisecond)
			_, _ = p.JetStream().Publish(p.Context(), "orders.new", fmt.Appendf(nil, "%d", i))
		}
	}).Start()
	w.At(5*time.Second, "crash", "consumer-2", w.Find("consumer-2").Crash)
	w.At(20*time.Second, "restart", "consumer-2", w.Find("consumer-2").Start)
	if stop := w.Step(10*time.Minute, func() bool { return len(done) == 20 }); stop != sim.StopDone {
		return fmt.Errorf("stopped by %s with %d orders done", stop, len(done))
	}
	return w.CheckTruth()
}

func consume(p *sim.Process, done map[string]bool, rogue func() int) {
	ctx := p.Context()
	_, _ = p.NATS().Subscribe("beat", func(m *nats.Msg) { p.Redis().HIncrBy(ctx, "beats:"+p.Node(), string(m.Data), 1) })
	go func() {
		tick := p.Clock().NewTicker(2 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.Chan():
				_ = p.NATS().Publish("beat", []byte(p.Node()))
			case <-ctx.Done():
				return
			}
		}
	}()
	c, err := p.JetStream().Consumer(ctx, "ORDERS", "c")
	if err != nil {
		panic(err)
	}
	for ctx.Err() == nil {
		batch, err := c.Fetch(4, jetstream.FetchMaxWait(5*time.Second))
		if err != nil {
			p.Clock().Sleep(time.Second)
			continue
		}
		for m := range batch.Messages() {
			p.Redis().HSet(ctx, "order:"+string(m.Data()), "by", p.Node(), "n", rogue())
			if p.Rand().Uint64(ctx)%4 == 0 {
				_ = m.NakWithDelay(3 * time.Second)
				continue
			}
			if m.DoubleAck(ctx) == nil {
				done[string(m.Data())] = true
			}
		}
	}
}

func steady() int { return 1 }

func TestSameSeedSameTrace(t *testing.T) {
	for _, strategy := range []sim.Strategy{sim.Latency{}, sim.Random{}} {
		digests := map[string]bool{}
		for seed := range uint64(15) {
			var first, second bytes.Buffer
			a, err := sim.Run(sim.Config{Seed: seed, Strategy: strategy, Trace: &first}, func(w *sim.World) error { return orders(w, steady) })
			require.NoError(t, err)
			b, err := sim.Run(sim.Config{Seed: seed, Strategy: strategy, Trace: &second}, func(w *sim.World) error { return orders(w, steady) })
			require.NoError(t, err)
			line, x, y, err := sim.FirstDifference(&first, &second)
			require.NoError(t, err)
			require.Zero(t, line, "seed %d:\n%s\n%s", seed, x, y)
			require.Equal(t, a, b)
			digests[a.Digest] = true
		}
		assert.Len(t, digests, 15, "each seed is a run of its own")
	}
}

func TestAnUnseededDrawIsCaught(t *testing.T) {
	var first, second bytes.Buffer
	rogue := func() int { return rand.IntN(1 << 30) }
	_, err := sim.Run(sim.Config{Seed: 1, Trace: &first}, func(w *sim.World) error { return orders(w, rogue) })
	require.NoError(t, err)
	_, err = sim.Run(sim.Config{Seed: 1, Trace: &second}, func(w *sim.World) error { return orders(w, rogue) })
	require.NoError(t, err)
	line, a, b, err := sim.FirstDifference(&first, &second)
	require.NoError(t, err)
	require.NotZero(t, line)
	for _, event := range []string{a, b} {
		assert.Contains(t, event, `"name":"hset"`, "the first event that differs is the one the draw went into")
	}
}

func TestNoTwoStepsShareAnInstant(t *testing.T) {
	for _, strategy := range []sim.Strategy{sim.Latency{}, sim.Random{}} {
		last, steps := time.Duration(-1), 0
		_, err := sim.Run(sim.Config{Seed: 3, Strategy: strategy, Observe: func(e *sim.Event) {
			steps++
			assert.Equal(t, steps, e.Step)
			assert.Greater(t, e.At, last)
			last = e.At
		}}, func(w *sim.World) error { return orders(w, steady) })
		require.NoError(t, err)
	}
}

func TestCrashEndsAProcessAndRestartIsANewOne(t *testing.T) {
	var lives []int
	_, err := sim.Run(sim.Config{Seed: 1}, func(w *sim.World) error {
		n := w.Node("n", func(p *sim.Process) {
			lives = append(lives, p.Incarnation())
			defer p.Redis().Set(p.Context(), "deferred", p.Incarnation(), 0)
			for {
				p.Clock().Sleep(time.Second)
				p.Redis().Incr(p.Context(), "ticks")
			}
		})
		n.Start()
		w.At(3500*time.Millisecond, "crash", "n", n.Crash)
		w.At(10*time.Second, "restart", "n", n.Start)
		w.Step(12500*time.Millisecond, nil)
		assert.Equal(t, "5", w.Redis()["ticks"][""])
		assert.NotContains(t, w.Redis(), "deferred", "a dead process does no I/O, its deferred calls included")
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []int{1, 2}, lives)
}

func TestCrashByIntercept(t *testing.T) {
	var after bool
	intercept := func(_ context.Context, op *sim.Op, apply func() error) error {
		err := apply()
		if op.Name == "set" {
			op.World().Find(op.Node()).Crash()
		}
		return err
	}
	_, err := sim.Run(sim.Config{Seed: 1, Intercept: intercept}, func(w *sim.World) error {
		w.Node("n", func(p *sim.Process) {
			p.Redis().Set(p.Context(), "k", "v", 0)
			after = true
		}).Start()
		w.Step(time.Second, nil)
		assert.Equal(t, "v", w.Redis()["k"][""], "the command was applied")
		assert.False(t, w.Find("n").Up())
		return nil
	})
	require.NoError(t, err)
	assert.False(t, after, "its caller never learnt of it")
}

func TestPauseGrantsNothing(t *testing.T) {
	var at []time.Duration
	_, err := sim.Run(sim.Config{Seed: 1}, func(w *sim.World) error {
		n := w.Node("n", func(p *sim.Process) {
			for range 3 {
				p.Clock().Sleep(time.Second)
				at = append(at, w.Now().Round(time.Second))
			}
		})
		n.Start()
		w.At(1500*time.Millisecond, "pause", "n", func() { n.Pause(90 * time.Second) })
		w.Step(5*time.Minute, nil)
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []time.Duration{time.Second, 92 * time.Second, 93 * time.Second}, at)
}

func TestDeadlineThatPassesOnTheWay(t *testing.T) {
	var err error
	_, runErr := sim.Run(sim.Config{Seed: 1}, func(w *sim.World) error {
		n := w.Node("n", func(p *sim.Process) {
			ctx, cancel := context.WithTimeout(p.Context(), 2*time.Second)
			defer cancel()
			p.Clock().Sleep(time.Second)
			err = p.Redis().Set(ctx, "k", "v", 0).Err()
		})
		n.Start()
		w.At(1_000*time.Millisecond, "pause", "n", func() { n.Pause(30 * time.Second) })
		w.Step(time.Minute, nil)
		assert.NotContains(t, w.Redis(), "k")
		return nil
	})
	require.NoError(t, runErr)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestLeftGoroutineIsAnError(t *testing.T) {
	if os.Getenv("WAVETANK_LEAK") != "" {
		_, err := sim.Run(sim.Config{}, func(w *sim.World) error {
			w.Node("n", func(p *sim.Process) { <-make(chan int) }).Start()
			w.Step(time.Second, nil)
			return nil
		})
		fmt.Println("leak:", err)
		return
	}
	out := inChild(t, "WAVETANK_LEAK=1")
	assert.Contains(t, out, "leak: sim: the bubble did not end")
}

func TestPanicInBodyIsAnError(t *testing.T) {
	_, err := sim.Run(sim.Config{}, func(*sim.World) error { panic("in the body") })
	require.ErrorContains(t, err, "in the body")
	_, err = sim.Run(sim.Config{}, func(*sim.World) error { return nil })
	require.NoError(t, err, "the next world is not harmed")
}

func TestStepLimits(t *testing.T) {
	_, err := sim.Run(sim.Config{StepsMax: 10}, func(w *sim.World) error {
		w.Node("n", func(p *sim.Process) {
			for {
				p.Clock().Sleep(time.Second)
			}
		}).Start()
		assert.Equal(t, sim.StopTime, w.Step(5*time.Second, nil))
		assert.Equal(t, 5*time.Second, w.Now())
		assert.Equal(t, sim.StopDone, w.Step(time.Hour, func() bool { return w.Steps() == 7 }))
		assert.Equal(t, sim.StopSteps, w.Step(time.Hour, nil))
		return nil
	})
	require.NoError(t, err)
}

// TestWatchdog runs a world that cannot move, because an actor holds a mutex across a gate, in a
// process of its own: nothing can end such a bubble from within.
func TestWatchdog(t *testing.T) {
	if os.Getenv("WAVETANK_STALL") != "" {
		var mu sync.Mutex
		_, _ = sim.Run(sim.Config{Stall: 400 * time.Millisecond, OnStall: func(dump string) {
			fmt.Println("stalled:", strings.Contains(dump, "TestWatchdog"))
			os.Exit(0)
		}}, func(w *sim.World) error {
			for i := range 2 {
				w.Node(fmt.Sprint(i), func(p *sim.Process) {
					mu.Lock()
					defer mu.Unlock()
					p.Clock().Sleep(time.Second)
				}).Start()
			}
			w.Step(time.Minute, nil)
			return nil
		})
		return
	}
	assert.Contains(t, inChild(t, "WAVETANK_STALL=1"), "stalled: true")
}

// inChild runs the calling test in a process of its own, with env set.
func inChild(t *testing.T, env string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func TestCallsThatCannotBeStepped(t *testing.T) {
	_, err := sim.Run(sim.Config{}, func(w *sim.World) error {
		ctx := context.Background()
		_, err := w.JetStream().CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
		require.NoError(t, err)
		done := false
		w.Node("n", func(p *sim.Process) {
			js := p.JetStream()
			_, err := js.PublishAsync("s", nil)
			assert.ErrorIs(t, err, sim.ErrUngated)
			c, err := js.CreateOrUpdateConsumer(p.Context(), "S", jetstream.ConsumerConfig{Durable: "c"})
			assert.NoError(t, err)
			_, err = c.Consume(func(jetstream.Msg) {})
			assert.ErrorIs(t, err, sim.ErrUngated)
			_, err = c.Messages()
			assert.ErrorIs(t, err, sim.ErrUngated)
			_, err = js.KeyValue(p.Context(), "kv")
			assert.ErrorIs(t, err, sim.ErrUngated)
			_, err = c.Next(jetstream.FetchMaxWait(time.Second))
			assert.Error(t, err, "an empty stream has no next message")
			done = true
		}).Start()
		assert.Equal(t, sim.StopDone, w.Step(time.Minute, func() bool { return done }))
		return nil
	})
	require.NoError(t, err)
}

// What require does when it fails: it marks the test, and ends the goroutine that called it.
func TestABodyThatEndsItsGoroutineIsAnError(t *testing.T) {
	_, err := sim.Run(sim.Config{}, func(*sim.World) error { runtime.Goexit(); return nil })
	require.ErrorContains(t, err, "failed within the world")
}

// What an external system refuses is the step's outcome even if its caller dies with the answer; what it does is unheard then.
func TestARefusalOutlivesItsCaller(t *testing.T) {
	for outcome, err := range map[string]error{"had before": errors.New("had before"), sim.OutcomePending: nil} {
		var got []string
		cfg := sim.Config{
			Intercept: func(_ context.Context, op *sim.Op, apply func() error) error {
				err := apply()
				if op.Kind == "call" {
					op.World().Find("n").Crash()
				}
				return err
			},
			Observe: func(e *sim.Event) {
				if e.Kind == "call" {
					got = append(got, e.Outcome)
				}
			},
		}
		_, failed := sim.Run(cfg, func(w *sim.World) error {
			w.Node("n", func(p *sim.Process) {
				_ = p.Do(p.Context(), "call", "buy", "shop", func() error { return err })
				t.Error("it is dead")
			}).Start()
			w.Step(time.Second, nil)
			return nil
		})
		require.NoError(t, failed)
		assert.Equal(t, []string{outcome}, got)
	}
}
