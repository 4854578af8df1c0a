package faults_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/sim"
)

type tagKey struct{}

func tagged(ctx context.Context, job, phase string) context.Context {
	return context.WithValue(ctx, tagKey{}, sim.Tags{Job: job, Phase: phase})
}

// world runs a service, its own words for jobs and phases included, under the given faults.
func world(t *testing.T, list []faults.Fault, play func(*sim.World, *faults.Injector)) (in *faults.Injector, events []sim.Event) {
	t.Helper()
	in = faults.NewInjector(list, func(n int) string { return "order-" + strconv.Itoa(n) }, map[string]string{"heartbeats": "beat"})
	_, err := sim.Run(sim.Config{
		Seed: 1, Intercept: in.Intercept, RedisLag: in.RedisLag(),
		Tags: func(ctx context.Context) sim.Tags {
			tags, _ := ctx.Value(tagKey{}).(sim.Tags)
			return tags
		},
		MsgTags: func(subject string, _ nats.Header, _ []byte) sim.Tags { return sim.Tags{Phase: subject} },
		Observe: func(e *sim.Event) {
			kept := *e
			kept.Changes = nil
			if e.Kind == sim.KindControl {
				kept.Changes = slices.Clone(e.Changes)
			}
			events = append(events, kept)
		},
	}, func(w *sim.World) error {
		in.Attach(w)
		play(w, in)
		return nil
	})
	require.NoError(t, err)
	return in, events
}

// write is one write of a job's phase, with a deadline, and what its caller saw.
func write(p *sim.Process, job, phase, value string) error {
	ctx, cancel := context.WithTimeout(tagged(p.Context(), job, phase), 2*time.Second)
	defer cancel()
	return p.Redis().Set(ctx, job, value, 0).Err()
}

// unfired has the words for what did not fire as it should have.
func unfired(in *faults.Injector) (list []string) {
	for _, u := range in.Unfired() {
		list = append(list, u.String())
	}
	return list
}

func on(job int, phase string, occurrence int) *faults.Match {
	return &faults.Match{Job: job, Phase: phase, Occurrence: occurrence}
}

func TestEffectsOnAnOperation(t *testing.T) {
	for _, c := range []struct {
		do      faults.Effect
		applied bool
		want    error
		took    time.Duration
	}{
		{faults.FailBefore, false, syscall.ECONNREFUSED, 0},
		{faults.FailAfter, true, syscall.ECONNRESET, 0},
		{faults.Hang, false, context.DeadlineExceeded, 2 * time.Second},
		{faults.Lose, false, nil, 0},
	} {
		t.Run(string(c.do), func(t *testing.T) {
			in, events := world(t, []faults.Fault{{On: on(3, "save", 1), Do: c.do}}, func(w *sim.World, _ *faults.Injector) {
				w.Node("n", func(p *sim.Process) {
					assert.NoError(t, write(p, "order-2", "save", "x"), "another job is not struck")
					began := w.Now()
					err := write(p, "order-3", "save", "x")
					assert.ErrorIs(t, err, c.want)
					assert.Equal(t, c.took, (w.Now() - began).Round(100*time.Millisecond))
				}).Start()
				w.Step(time.Minute, nil)
				_, applied := w.Redis()["order-3"]
				assert.Equal(t, c.applied, applied)
				assert.Contains(t, w.Redis(), "order-2")
			})
			require.Len(t, in.Fired(), 1)
			fired := in.Fired()[0]
			assert.Equal(t, "n order-3 save 1", fmt.Sprint(fired.Node, " ", fired.Job, " ", fired.Phase, " ", fired.Occurrence))
			assert.Equal(t, string(c.do), events[fired.Step-1].Fault, "the trace says so")
			assert.Empty(t, in.Unfired())
		})
	}
}

func TestOccurrencesAndTimes(t *testing.T) {
	var failed []int
	in, _ := world(t, []faults.Fault{
		{On: on(0, "save", 3), Do: faults.FailBefore, Times: 2},
		{On: on(1, "never", 1), Do: faults.FailBefore},
		{On: on(1, "save", 6), Do: faults.FailBefore, Times: 3},
	}, func(w *sim.World, _ *faults.Injector) {
		w.Node("n", func(p *sim.Process) {
			for i := range 6 {
				p.Redis().Get(tagged(p.Context(), "order-1", "save"), "order-1") // reads do not count
				if write(p, "order-1", "save", "x") != nil {
					failed = append(failed, i+1)
				}
			}
		}).Start()
		w.Step(time.Minute, nil)
	})
	assert.Equal(t, []int{3, 4, 6}, failed)
	assert.Equal(t, []string{
		"fail-before on never of job 1: never, as no such operation was made",
		"fail-before on save of job 1, occurrences 6 to 8: only 1 of 3 times",
	}, unfired(in))
}

func TestReadPhasesStrikeReads(t *testing.T) {
	world(t, []faults.Fault{{On: on(1, "state_read", 1), Do: faults.FailBefore}}, func(w *sim.World, _ *faults.Injector) {
		w.Node("n", func(p *sim.Process) {
			ctx := tagged(p.Context(), "order-1", "state_read")
			assert.ErrorIs(t, p.Redis().Get(ctx, "order-1").Err(), syscall.ECONNREFUSED)
		}).Start()
		w.Step(time.Minute, nil)
	})
}

func TestRateIsKeyedAndEndsWithTheHeal(t *testing.T) {
	run := func() (struck []int) {
		world(t, []faults.Fault{{On: on(0, "save", 0), Do: faults.FailBefore, Rate: 0.3}}, func(w *sim.World, in *faults.Injector) {
			w.Node("n", func(p *sim.Process) {
				for i := range 400 {
					if i == 200 {
						in.Heal(w)
					}
					if write(p, fmt.Sprintf("order-%d", i), "save", "x") != nil {
						struck = append(struck, i)
					}
				}
			}).Start()
			w.Step(time.Minute, nil)
		})
		return struck
	}
	struck := run()
	assert.Equal(t, struck, run())
	assert.InDelta(t, 60, len(struck), 25)
	assert.Less(t, struck[len(struck)-1], 200)
}

func TestCrashAfterAnOperation(t *testing.T) {
	learned := 0
	in, events := world(t, []faults.Fault{{After: on(1, "save", 1), Do: faults.Crash, Node: faults.Actor, RestartIn: 30 * time.Second}},
		func(w *sim.World, _ *faults.Injector) {
			w.Node("n", func(p *sim.Process) {
				_ = write(p, "order-1", "save", strconv.Itoa(p.Incarnation()))
				learned = p.Incarnation()
			}).Start()
			w.Step(10*time.Second, nil)
			assert.Equal(t, "1", w.Redis()["order-1"][""], "it was applied")
			assert.Zero(t, learned, "its caller died before it learned so")
			assert.False(t, w.Find("n").Up())
			w.Step(time.Minute, nil)
			assert.Equal(t, 2, learned, "the next incarnation is not struck: it is the second occurrence")
		})
	assert.Equal(t, 30*time.Second, in.Fired()[0].Until-in.Fired()[0].At)
	var controls []string
	for _, e := range events {
		if e.Kind == sim.KindControl {
			controls = append(controls, e.Name+" "+e.Target)
		}
	}
	assert.Equal(t, []string{"crash n", "restart n"}, controls)
}

func TestCrashAtATimeAndHeal(t *testing.T) {
	in, _ := world(t, []faults.Fault{{At: 5 * time.Second, Do: faults.Crash, Node: "n"}}, func(w *sim.World, in *faults.Injector) {
		w.Node("n", func(p *sim.Process) { p.Clock().Sleep(time.Hour) }).Start()
		w.Step(time.Minute, nil)
		assert.False(t, w.Find("n").Up(), "without restart_in it stays down")
		in.Heal(w)
		w.Step(2*time.Minute, nil)
		assert.True(t, w.Find("n").Up())
	})
	assert.True(t, in.Begun(6*time.Second))
	assert.Equal(t, time.Minute, in.Fired()[0].Until.Round(time.Second))
}

func TestPartitionFromHeartbeats(t *testing.T) {
	heard := map[int]bool{}
	other := 0
	_, _ = world(t, []faults.Fault{{At: 10 * time.Second, Do: faults.Partition, Node: "n", From: "heartbeats", For: 20 * time.Second}},
		func(w *sim.World, _ *faults.Injector) {
			w.Node("ear", func(p *sim.Process) {
				_, err := p.NATS().Subscribe("beat", func(m *nats.Msg) { heard[int(w.Now()/time.Second)] = true })
				assert.NoError(t, err)
				_, err = p.NATS().Subscribe("talk", func(m *nats.Msg) { other++ })
				assert.NoError(t, err)
				<-p.Context().Done()
			}).Start()
			w.Step(500*time.Millisecond, nil)
			w.Node("n", func(p *sim.Process) {
				for range 40 {
					p.Clock().Sleep(time.Second)
					assert.NoError(t, p.NATS().Publish("beat", nil), "its sender does not learn of it")
					_ = p.NATS().Publish("talk", nil)
				}
			}).Start()
			w.Step(time.Minute, nil)
		})
	assert.True(t, heard[8] && heard[35])
	for s := 11; s < 30; s++ {
		assert.False(t, heard[s], "a heartbeat at %d s", s)
	}
	assert.Equal(t, 40, other, "nothing else is cut")
}

func TestNodeOfAMatch(t *testing.T) {
	struck := map[string]error{}
	world(t, []faults.Fault{{On: &faults.Match{Phase: "save", Node: "b"}, Do: faults.FailBefore}}, func(w *sim.World, _ *faults.Injector) {
		for _, name := range []string{"a", "b"} {
			w.Node(name, func(p *sim.Process) { struck[name] = write(p, "order-1", "save", "x") }).Start()
		}
		w.Step(time.Minute, nil)
	})
	assert.NoError(t, struck["a"])
	assert.Error(t, struck["b"])
}

// A node that has a restart of its own keeps it over the heal, and a second crash is not undone by
// the restart that the first one planned.
func TestEachOutageEndsAtItsOwnTime(t *testing.T) {
	var up []int
	in, _ := world(t, []faults.Fault{
		{At: 5 * time.Second, Do: faults.Crash, Node: "n", RestartIn: 10 * time.Second},
		{At: 17 * time.Second, Do: faults.Crash, Node: "n", RestartIn: 20 * time.Second},
	}, func(w *sim.World, in *faults.Injector) {
		w.Node("n", func(p *sim.Process) { <-p.Context().Done() }).Start()
		for s := range 50 {
			w.Step(time.Duration(s)*time.Second+500*time.Millisecond, nil)
			if w.Find("n").Up() {
				up = append(up, s)
			}
			if s == 7 {
				in.Heal(w)
				assert.False(t, in.Quiet())
			}
		}
		assert.True(t, in.Quiet())
	})
	assert.Equal(t, []int{0, 1, 2, 3, 4, 15, 16, 37, 38}, up[:9])
	assert.Equal(t, 10*time.Second, in.Fired()[0].Until-in.Fired()[0].At)
	assert.Equal(t, 20*time.Second, in.Fired()[1].Until-in.Fired()[1].At)
	assert.Equal(t, 37*time.Second, in.Last())
}

func TestACrashAfterTheHealIsHealedToo(t *testing.T) {
	world(t, []faults.Fault{{After: on(1, "save", 1), Do: faults.Crash, Node: faults.Actor}}, func(w *sim.World, in *faults.Injector) {
		in.Heal(w)
		w.Node("n", func(p *sim.Process) { _ = write(p, "order-1", "save", "x") }).Start()
		w.Step(10*time.Second, nil)
		assert.True(t, w.Find("n").Up())
	})
}

func TestPartitionsOverlap(t *testing.T) {
	var heard []int
	world(t, []faults.Fault{
		{At: 5 * time.Second, Do: faults.Partition, Node: "n", From: "heartbeats", For: 10 * time.Second},
		{At: 10 * time.Second, Do: faults.Partition, Node: "n", From: "heartbeats", For: 20 * time.Second},
	}, func(w *sim.World, in *faults.Injector) {
		w.Node("ear", func(p *sim.Process) {
			_, err := p.NATS().Subscribe("beat", func(*nats.Msg) { heard = append(heard, int(w.Now()/time.Second)) })
			assert.NoError(t, err)
			<-p.Context().Done()
		}).Start()
		w.Step(500*time.Millisecond, nil)
		w.Node("n", func(p *sim.Process) {
			for range 40 {
				p.Clock().Sleep(time.Second)
				_ = p.NATS().Publish("beat", nil)
			}
		}).Start()
		w.Step(time.Minute, nil)
		assert.True(t, in.Quiet())
		assert.False(t, in.Freed(0), "the other still cuts it off")
		assert.True(t, in.Freed(1))
	})
	require.NotEmpty(t, heard)
	for _, s := range heard {
		assert.True(t, s < 6 || s >= 30, "a heartbeat at %d s", s)
	}
}

// Each fault counts every operation, whichever fault strikes it.
func TestTwoFaultsOnOnePhase(t *testing.T) {
	var failed []int
	in, _ := world(t, []faults.Fault{
		{On: on(1, "save", 1), Do: faults.FailBefore},
		{On: on(1, "save", 2), Do: faults.FailAfter},
	}, func(w *sim.World, _ *faults.Injector) {
		w.Node("n", func(p *sim.Process) {
			for i := range 5 {
				if write(p, "order-1", "save", "x") != nil {
					failed = append(failed, i+1)
				}
			}
		}).Start()
		w.Step(time.Minute, nil)
	})
	assert.Equal(t, []int{1, 2}, failed)
	assert.Empty(t, in.Unfired())
}
