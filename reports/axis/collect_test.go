package axis

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

// of collects events, which it numbers, a millisecond apart.
func of(res *scenarios.Result, events ...sim.Event) *Axis {
	c := New(res, []string{"job-1"})
	for i := range events {
		e := &events[i]
		e.Step, e.At = i+1, time.Duration(i+1)*time.Millisecond
		if e.Outcome == "" {
			e.Outcome = sim.OutcomeOK
		}
		c.Add(e)
	}
	return c.Axis()
}

func published(node, subject string, seq uint64) sim.Event {
	return sim.Event{Node: node, Kind: sim.KindPublish, Target: subject, Job: "job-1", Phase: "publish", Changes: []sim.Change{{Stream: "S", Seq: seq, Subject: subject}}}
}

func told(node string, kind sim.Kind, seq, delivered uint64) sim.Event {
	return sim.Event{Node: node, Kind: kind, Target: "jobs", Job: "job-1", Seq: seq, Delivered: delivered}
}

func TestArrowsLeadToEachDelivery(t *testing.T) {
	a := of(&scenarios.Result{},
		published("scheduler-1", "jobs", 3), published("scheduler-1", "jobs", 4),
		told("worker-1", sim.KindDeliver, 3, 1), told("worker-1", sim.KindNak, 3, 1),
		told("worker-2", sim.KindDeliver, 3, 2), told("worker-1", sim.KindDeliver, 3, 3),
		told("worker-1", sim.KindDeliver, 9, 1), // whose publish is not known
	)
	assert.Equal(t, []Arrow{{From: 0, To: 2}, {From: 3, To: 4, Again: true}, {From: 4, To: 5, Again: true}}, a.Arrows)
	assert.Equal(t, []string{"scheduler-1", "worker-1", "worker-2"}, a.Lanes)
	assert.Equal(t, Message, a.Marks[0].Kind)
	assert.Equal(t, 1, a.Marks[2].Lane)
}

// What was lost on its way changes nothing of a message, and what its stream loses is gone.
func TestMessagesHaveTheirTurns(t *testing.T) {
	lost := told("worker-1", sim.KindAck, 3, 1)
	lost.Fault = "lose"
	gone := sim.Event{Node: "nats", Kind: sim.KindControl, Name: "power-loss", Changes: []sim.Change{{Stream: "S", Seq: 3, Subject: "jobs", Gone: true}}}
	a := of(&scenarios.Result{}, published("scheduler-1", "jobs", 3), told("worker-1", sim.KindDeliver, 3, 1), lost, told("worker-1", sim.KindNak, 3, 1), told("worker-1", sim.KindDeliver, 9, 1), gone)
	assert.Equal(t, []string{"jobs 3"}, a.Messages)
	var turns []string
	for _, m := range a.Marks {
		for _, turn := range m.Turns {
			turns = append(turns, fmt.Sprint(m.Step, " ", turn.Is))
		}
	}
	assert.Equal(t, []string{"1 stored", "2 delivered", "4 handed back", "6 gone"}, turns)
}

func TestALockLastsUntilItIsGivenBackTakenOrRunsOut(t *testing.T) {
	lock := func(value string, expires time.Duration) sim.Event {
		return sim.Event{Node: "scheduler-1", Kind: sim.KindRedis, Name: "set", Job: "job-1", Phase: "lock_acquire",
			Changes: []sim.Change{{Key: "cordum:scheduler:job:job-1", Value: value, Expires: expires, Gone: value == ""}}}
	}
	spans := func(events ...sim.Event) (list []string) {
		a := of(&scenarios.Result{}, events...)
		for _, s := range a.Spans {
			require.Equal(t, Lock, s.What)
			list = append(list, fmt.Sprintf("%s %d-%d", a.Lanes[s.Lane], s.From, s.To))
		}
		return list
	}
	other := sim.Event{Node: "scheduler-2", Kind: sim.KindRedis, Job: "job-1"}
	assert.Equal(t, []string{"scheduler-1 1000-3000"}, spans(lock("scheduler-1:a", time.Minute), other, lock("", 0), other))
	assert.Equal(t, []string{"scheduler-1 1000-2000"}, spans(lock("scheduler-1:a", 2*time.Millisecond), other, other), "it ran out")
	assert.Equal(t, []string{"scheduler-1 1000-3000"}, spans(lock("scheduler-1:a", 2*time.Millisecond), lock("scheduler-1:a", time.Minute), other), "it was renewed")
	assert.Equal(t, []string{"scheduler-1 1000-2000", "scheduler-2 2000-3000"}, spans(lock("scheduler-1:a", time.Minute), lock("scheduler-2:b", time.Minute), other))
}

func TestAnExecutionEndsWithItsWorker(t *testing.T) {
	work := func(name string) sim.Event {
		return sim.Event{Node: "worker-1", Kind: "effect", Name: name, Job: "job-1", Phase: "effect"}
	}
	a := of(&scenarios.Result{}, work("begin"), work("finish"), work("begin"), sim.Event{Kind: sim.KindControl, Name: "crash", Target: "worker-1"}, work("begin"))
	require.Len(t, a.Spans, 3)
	for i, want := range [][2]int64{{1000, 2000}, {3000, 4000}, {5000, 5000}} {
		assert.Equal(t, Execution, a.Spans[i].What)
		assert.Equal(t, want, [2]int64{a.Spans[i].From, a.Spans[i].To})
	}
	assert.Equal(t, Control, a.Marks[3].Kind)
	assert.Equal(t, "worker-1", a.Lanes[a.Marks[3].Lane])
}

func TestWhatStrikesAndWhatBreaksIsOnTheAxis(t *testing.T) {
	res := &scenarios.Result{
		Violations: []scenarios.Violation{{Invariant: "one-dispatch-per-job", Message: "job-1: again", Step: 2}},
		Fired:      []scenarios.FiredFault{{Fault: "pause of nats", Node: "nats", At: time.Millisecond, Until: time.Second}, {Fault: "lose", Node: "worker-1", At: time.Millisecond}},
		Cause:      &why.Cause{Path: []why.Point{{Step: 1}, {Step: 0}, {Step: 2}}},
	}
	a := of(res, published("scheduler-1", "jobs", 3), sim.Event{Node: "scheduler-1", Kind: sim.KindPublish, Job: "job-1", Fault: "fail-after", Outcome: "nats: timeout"})
	assert.Equal(t, []string{"one-dispatch-per-job: job-1: again"}, a.Marks[1].Broken)
	assert.Equal(t, "fail-after", a.Marks[1].Fault)
	assert.Equal(t, "nats: timeout", a.Marks[1].Outcome)
	assert.Equal(t, []int{1, 0, 2}, a.Path)
	require.Len(t, a.Spans, 1, "what strikes an operation alone does not last")
	assert.Equal(t, "nats", a.Lanes[a.Spans[0].Lane])
	assert.Equal(t, []Change{{Key: "S", Field: "jobs"}}, a.Marks[0].Changes)
}

// What breaks while everybody waits is seen all the same.
func TestABreachOfATimerIsOnTheAxis(t *testing.T) {
	res := &scenarios.Result{Violations: []scenarios.Violation{{Invariant: "every-job-settles", Message: "job-1", Step: 2}}}
	wakes := sim.Event{Node: "scheduler-1", Kind: sim.KindTimer, Name: "ticker"}
	a := of(res, wakes, wakes, wakes)
	require.Len(t, a.Marks, 1)
	assert.Equal(t, 2, a.Marks[0].Step)
}

// Whatever the run holds, the picture is bounded, and what the page follows comes first.
func TestAPictureIsBounded(t *testing.T) {
	var events []sim.Event
	for i := range 4 * marksMax {
		events = append(events,
			sim.Event{Node: "scheduler-1", Kind: sim.KindRedis, Job: fmt.Sprintf("job-%d", i+2)},
			sim.Event{Node: "scheduler-1", Kind: sim.KindReceive, Phase: "heartbeat"},
			sim.Event{Node: "scheduler-1", Kind: sim.KindTimer, Name: "ticker"},
		)
	}
	events = append(events, published("scheduler-1", "jobs", 1))
	a := of(&scenarios.Result{}, events...)
	assert.Len(t, a.Marks, othersMax+keepingMax+1)
	assert.Equal(t, 8*marksMax-othersMax-keepingMax, a.Left, "waiting is no step")
	assert.Equal(t, "job-1", a.Jobs[a.Marks[len(a.Marks)-1].Job])
}
