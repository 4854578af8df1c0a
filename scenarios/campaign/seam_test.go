package campaign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
)

// scripted is a worker without a process: the test does what it is assigned.
type scripted struct {
	does    func(w *scripted, a Assignment)
	answers chan Answer
	death   Death
	gone    bool
}

func (w *scripted) Assign(a Assignment) {
	if !w.gone {
		w.does(w, a)
	}
}

func (w *scripted) Answers() <-chan Answer { return w.answers }
func (w *scripted) Death() Death           { return w.death }

func (w *scripted) End() {
	if !w.gone {
		w.gone = true
		close(w.answers)
	}
}

// die ends the worker by itself.
func (w *scripted) die(d Death) {
	w.death = d
	w.End()
}

// obey does all that is assigned.
func (w *scripted) obey(a Assignment) {
	for n := a.First; n < a.First+a.Count; n++ {
		w.answers <- Answer{Begin: true, N: n}
		w.answers <- Answer{Record: kept(n)}
	}
	w.answers <- Answer{Done: true}
}

func kept(n int) *Record {
	return &Record{N: n, Verdict: scenarios.Held, Digest: fmt.Sprint(n), Steps: n}
}

// scriptedCampaign is a campaign whose workers do what does says; the first argument counts them.
func scriptedCampaign(t *testing.T, runs, workers int, does func(k int, w *scripted, a Assignment)) *supervisor {
	t.Helper()
	s, err := newSupervisor(context.Background(), begun(t, small(runs)), quick(workers, "").withDefaults())
	require.NoError(t, err)
	t.Cleanup(s.close)
	started := 0
	s.launch = func(context.Context, Orders) (Worker, error) {
		k := started
		started++
		return &scripted{does: func(w *scripted, a Assignment) { does(k, w, a) }, answers: make(chan Answer, 1000)}, nil
	}
	return s
}

// A run that is done here after it came from elsewhere must be the same.
func TestARunThatWasDoneElsewhereMustBeTheSameHere(t *testing.T) {
	s := scriptedCampaign(t, 8, 1, nil)
	s.same = make([]uint64, 8)
	s.record(kept(3))
	s.record(kept(3))
	require.NoError(t, s.err)
	other := kept(3)
	other.Digest = "another"
	s.record(other)
	differ := new(NotDeterministicError)
	require.ErrorAs(t, s.err, &differ)
	assert.Contains(t, differ.Error(), "and a worker of this machine that it was held with digest another")
}

func TestRangesAreHandedOutInOrder(t *testing.T) {
	var ranges []Assignment
	s := scriptedCampaign(t, 100, 1, func(_ int, w *scripted, a Assignment) {
		ranges = append(ranges, a)
		w.obey(a)
	})
	res, err := s.run(context.Background())
	require.NoError(t, err)
	assert.Equal(t, 100, res.Runs)
	assert.Equal(t, 99*100/2, res.Steps)
	next := 0
	for _, a := range ranges {
		assert.Equal(t, next, a.First)
		assert.LessOrEqual(t, a.Count, rangeMax)
		next += a.Count
	}
	assert.Equal(t, 100, next)
}

// A process that somebody kills is not the code under test's doing: its run is run again.
func TestAWorkerThatIsKilledIsReplaced(t *testing.T) {
	s := scriptedCampaign(t, 20, 2, func(k int, w *scripted, a Assignment) {
		if k < 5 && a.First <= 3 && 3 < a.First+a.Count {
			w.answers <- Answer{Begin: true, N: 3}
			w.die(Death{Killed: true})
			return
		}
		w.obey(a)
	})
	res, err := s.run(context.Background())
	require.NoError(t, err)
	assert.Equal(t, 20, res.Runs)
	assert.Zero(t, res.Contained)
}

// The system kills for want of memory, too: then it is always the same run.
func TestARunThatIsKilledEachTimeIsOutOfBounds(t *testing.T) {
	records := map[int]*Record{}
	s := scriptedCampaign(t, 8, 1, func(_ int, w *scripted, a Assignment) {
		switch {
		case a.Trial != nil:
			w.die(Death{Killed: true})
		case a.First <= 3 && 3 < a.First+a.Count:
			w.answers <- Answer{Begin: true, N: 3}
			w.die(Death{Killed: true})
		default:
			w.obey(a)
		}
	})
	s.opt.Record = func(r *Record) { records[r.N] = r }
	s.opt.FindingsMax, s.hunt.max = 0, 0
	res, err := s.run(context.Background())
	require.NoError(t, err)
	assert.Equal(t, 8, res.Runs)
	require.NotNil(t, records[3].Contained)
	assert.Equal(t, Overgrew, records[3].Contained.What)
	assert.Equal(t, 1, res.Unexamined)
}

func TestAPanicThatDoesNotRepeatIsFlaky(t *testing.T) {
	const said = "panic: now and then\n\ngoroutine 7 [running]:\n" + modulePath + "engine.(*Engine).dispatch(0xc0001)\n\t/home/someone/engine/dispatch.go:12 +0x1d\n"
	died := false
	var alone []Assignment
	records := map[int]*Record{}
	s := scriptedCampaign(t, 8, 1, func(_ int, w *scripted, a Assignment) {
		if a.Steps {
			alone = append(alone, a)
		}
		if !died && a.First <= 3 && 3 < a.First+a.Count {
			died = true
			w.answers <- Answer{Begin: true, N: 3}
			w.die(Death{Output: said})
			return
		}
		w.obey(a)
	})
	s.opt.Record = func(r *Record) { records[r.N] = r }
	s.hunt.max = 0
	_, err := s.run(context.Background())
	require.NoError(t, err)
	assert.Equal(t, []Assignment{{First: 3, Count: 1, Steps: true}}, alone)
	require.NotNil(t, records[3].Contained)
	assert.Equal(t, Contained{What: Panicked, Flaky: true, Stack: "panic: now and then\n  engine.(*Engine).dispatch dispatch.go:12"}, *records[3].Contained)
}

// A process can be stuck so that not even its own watchdog runs.
func TestAWorkerThatSaysNothingIsEnded(t *testing.T) {
	var silent []*scripted
	s := scriptedCampaign(t, 8, 1, func(_ int, w *scripted, a Assignment) {
		if len(silent) > 0 && silent[len(silent)-1] == w {
			return
		}
		if a.First <= 3 && 3 < a.First+a.Count {
			w.answers <- Answer{Begin: true, N: 3}
			w.answers <- Answer{Step: 17}
			silent = append(silent, w)
			return
		}
		w.obey(a)
	})
	s.hunt.max = 0
	records := map[int]*Record{}
	s.opt.Record = func(r *Record) { records[r.N] = r }
	now := time.Now()
	s.looked = now
	for records[7] == nil {
		s.handOut()
		for len(s.events) > 0 || s.seats[0].run != 3 && records[7] == nil {
			s.heard(<-s.events)
			s.handOut()
		}
		if t := s.seats[0]; t.run == 3 && t.step == 17 {
			now = now.Add(s.orders.Stall)
			s.listenFor(now)
			assertNotEnded(s, silent)
			t.heard = now.Add(-4 * s.orders.Stall)
			s.listenFor(now)
			s.heard(<-s.events)
		} else if t.run == 3 {
			s.heard(<-s.events)
		}
	}
	assert.Len(t, silent, 2, "once more, alone")
	assert.Equal(t, &Contained{What: Hung, Step: 17, Stack: "the process said nothing any more"}, records[3].Contained)
}

func assertNotEnded(s *supervisor, silent []*scripted) {
	if silent[len(silent)-1].gone {
		s.fail(errors.New("ended too early"))
	}
}

// A machine that was asleep makes a hang of any run: what the run does alone in a fresh worker counts.
func TestAHangThatDoesNotRepeatIsNotBelieved(t *testing.T) {
	for _, what := range []Containment{Hung, Leaked, Overgrew} {
		for _, times := range []int{1, 2} {
			met := 0
			records := map[int]*Record{}
			s := scriptedCampaign(t, 8, 1, func(_ int, w *scripted, a Assignment) {
				if met < times && a.First <= 3 && 3 < a.First+a.Count {
					met++
					w.answers <- Answer{Begin: true, N: 3}
					w.answers <- Answer{Record: &Record{N: 3, Contained: &Contained{What: what, Step: met}}}
					w.die(Death{})
					return
				}
				w.obey(a)
			})
			s.opt.Record = func(r *Record) { records[r.N] = r }
			s.hunt.max = 0
			res, err := s.run(context.Background())
			require.NoError(t, err)
			assert.Equal(t, 8, res.Runs)
			if times == 1 {
				assert.Equal(t, kept(3), records[3])
				continue
			}
			assert.Equal(t, &Contained{What: what, Step: 2}, records[3].Contained)
		}
	}
}

// Neither the end of the time nor a cancellation waits for a run for ever. It is as if it had not begun.
func TestRunsUnderWayAreLeftOnceTheGraceIsOver(t *testing.T) {
	stuck := func(_ int, w *scripted, a Assignment) {
		if a.First <= 3 && 3 < a.First+a.Count {
			for n := a.First; n < 3; n++ {
				w.answers <- Answer{Record: kept(n)}
			}
			w.answers <- Answer{Begin: true, N: 3}
			w.does = func(*scripted, Assignment) {}
			return
		}
		w.obey(a)
	}
	cancelled := scriptedCampaign(t, 80, 2, stuck)
	ctx, cancel := context.WithCancel(context.Background())
	cancelled.ctx, cancelled.grace = ctx, 1
	cancelled.opt.Record = func(r *Record) { cancel() }
	res, err := cancelled.run(ctx)
	require.NoError(t, err)
	assert.False(t, res.Complete)
	assert.Zero(t, res.Contained)
	assert.False(t, cancelled.todo.done.has(3))

	over := scriptedCampaign(t, 80, 1, stuck)
	over.spec.Budget, over.grace = time.Hour, 1
	over.opt.Progress = func(Progress) { over.before = time.Hour }
	res, err = over.run(context.Background())
	require.NoError(t, err)
	assert.True(t, res.Complete)
	assert.Zero(t, res.Contained)
	assert.Less(t, res.Runs, 80)
}

// A process that speaks and goes on with one run is ended, too.
func TestAWorkerThatDoesNotEndARunIsEnded(t *testing.T) {
	s := scriptedCampaign(t, 1, 1, func(_ int, w *scripted, a Assignment) { w.answers <- Answer{Begin: true, N: a.First} })
	var records []*Record
	s.opt.Record = func(r *Record) { records = append(records, r) }
	for range 2 { // once more, alone
		require.Empty(t, records)
		s.handOut()
		s.heard(<-s.events)
		seat, now := s.seats[0], time.Now()
		seat.heard, seat.begun, s.looked = now, now.Add(-s.orders.Total), now
		s.listenFor(now)
		require.Empty(t, seat.hung, "its own watchdog comes first")
		seat.begun = now.Add(-s.orders.Total - 4*s.orders.Stall)
		s.listenFor(now)
		s.heard(<-s.events)
	}
	require.Len(t, records, 1)
	assert.Equal(t, &Contained{What: Hung, Stack: tookTooLong}, records[0].Contained)
}

func TestAWorkersOwnProblemEndsTheCampaign(t *testing.T) {
	s := scriptedCampaign(t, 8, 1, func(_ int, w *scripted, a Assignment) {
		w.answers <- Answer{Problem: "sim: a store for JetStream: no space left on device"}
	})
	_, err := s.run(context.Background())
	assert.EqualError(t, err, "a worker cannot go on: sim: a store for JetStream: no space left on device")
}

func TestTodo(t *testing.T) {
	d := newTodo(span{0, 20})
	for _, n := range []int{0, 1, 5} {
		d.done.add(n)
	}
	var got []int
	take := func() {
		first, count := d.take(1)
		for n := range count {
			got = append(got, first+n)
		}
	}
	take()
	assert.Equal(t, []int{2, 3, 4}, got)
	d.back(3)
	d.done.add(2)
	d.back(2)
	d.back(4)
	got = nil
	take()
	assert.Equal(t, []int{3, 4}, got, "what came back goes first; what is done never")
	for !d.empty() {
		take()
	}
	slices.Sort(got)
	assert.Equal(t, []int{3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, got)

	unbounded := newTodo(span{0, endless})
	first, count := unbounded.take(4)
	assert.Equal(t, [2]int{0, rangeMax}, [2]int{first, count})
	assert.False(t, unbounded.empty())
}
