package axis

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

// of collects events, which it numbers, a millisecond apart.
func of(res *scenarios.Result, events ...sim.Event) *Axis {
	c := New(plans.Defaults(), res, []string{"job-1"})
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

// A nak that its server never got makes no message come again: that comes of the time that the delivery was out for.
func TestAnArrowLeadsFromWhatArrived(t *testing.T) {
	lost := told("scheduler-1", sim.KindNak, 3, 1)
	lost.Fault, lost.Outcome = "fail-before", "nats: connection closed"
	a := of(&scenarios.Result{}, published("scheduler-1", "jobs", 3), told("worker-1", sim.KindDeliver, 3, 1), lost, told("worker-2", sim.KindDeliver, 3, 2))
	assert.Equal(t, []Arrow{{From: 0, To: 1}, {From: 1, To: 3, Again: true}}, a.Arrows)
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

// The lock is there for as long as it lasts (package lasting), a short lease is not.
func TestLocksAndLeasesAreOnTheAxis(t *testing.T) {
	set := func(key string, expires time.Duration) sim.Event {
		return sim.Event{Node: "scheduler-1", Kind: sim.KindRedis, Job: "job-1", Changes: []sim.Change{{Key: key, Value: "scheduler-1:a", Expires: expires}}}
	}
	wait := sim.Event{Node: "scheduler-1", Kind: sim.KindTimer}
	events := []sim.Event{set("cordum:scheduler:job:job-1", 50*time.Millisecond), set("cordum:scheduler:snapshot:writer", 20*time.Millisecond), set("cordum:reconciler:default", time.Minute)}
	for range 200 {
		events = append(events, wait)
	}
	var list []string
	for _, s := range of(&scenarios.Result{}, events...).Spans {
		list = append(list, fmt.Sprintf("%s %d-%d %s", s.What, s.From, s.To, s.Says))
	}
	assert.Equal(t, []string{"lock 1000-50000 locks job-1", "lease 3000-203000 holds cordum:reconciler:default"}, list)
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
		Cause:      &why.Cause{Path: []why.Point{{Step: 1, At: time.Millisecond, Says: "sent"}, {At: 2 * time.Millisecond, Says: "The lock ran out."}, {Step: 2, At: 3 * time.Millisecond}}},
	}
	a := of(res, published("scheduler-1", "jobs", 3), sim.Event{Node: "scheduler-1", Kind: sim.KindPublish, Job: "job-1", Fault: "fail-after", Outcome: "nats: timeout"})
	assert.Equal(t, []string{"one-dispatch-per-job: job-1: again"}, a.Marks[1].Broken)
	assert.Equal(t, "fail-after", a.Marks[1].Fault)
	assert.Equal(t, "nats: timeout", a.Marks[1].Outcome)
	assert.Equal(t, []Point{{Step: 1, At: 1000}, {At: 2000, Says: "The lock ran out."}, {Step: 2, At: 3000}}, a.Path)
	require.Len(t, a.Spans, 1, "what strikes an operation alone does not last")
	assert.Equal(t, "nats", a.Lanes[a.Spans[0].Lane])
	assert.Equal(t, []Change{{Key: "S", Field: "jobs"}}, a.Marks[0].Changes)
}

// However many locks there are, what befell a node is there, and what the page follows. What is left out is counted.
func TestLocksLeaveRoomForWhatBefellANode(t *testing.T) {
	lock := func(key, value string) sim.Event {
		return sim.Event{Node: "scheduler-1", Kind: sim.KindRedis, Changes: []sim.Change{{Key: key, Value: value, Expires: time.Hour, Gone: value == ""}}}
	}
	var events []sim.Event
	for i := range spansMax + 7 {
		key := fmt.Sprint("cordum:wf:run:lock:run-", i)
		events = append(events, lock(key, "scheduler-1:a"), lock(key, ""))
	}
	events = append(events, lock("cordum:scheduler:job:job-1", "scheduler-1:a"), lock("cordum:scheduler:job:job-2", "scheduler-1:a"))
	a := of(&scenarios.Result{Fired: []scenarios.FiredFault{{Fault: "crash of worker-1", Do: "crash", Node: "worker-1"}}}, events...)
	kinds := map[What]int{}
	for _, s := range a.Spans {
		kinds[s.What]++
		assert.NotEqual(t, "locks job-2", s.Says)
	}
	assert.Equal(t, map[What]int{Lock: spansMax + 1, Fault: 1}, kinds)
	assert.Equal(t, "locks job-1", a.Spans[len(a.Spans)-1].Says)
	assert.Equal(t, map[What]int{Lock: 8}, a.SpansLeft)
}

// What breaks while everybody waits is seen all the same.
func TestABreachOfATimerIsOnTheAxis(t *testing.T) {
	res := &scenarios.Result{Violations: []scenarios.Violation{{Invariant: "every-job-settles", Message: "job-1", Step: 2}}}
	wakes := sim.Event{Node: "scheduler-1", Kind: sim.KindTimer, Name: "ticker"}
	a := of(res, wakes, wakes, wakes)
	require.Len(t, a.Marks, 1)
	assert.Equal(t, 2, a.Marks[0].Step)
}

// Whatever the run holds, the picture is bounded. What the page follows comes first, and what is of no job is there to the end.
func TestAPictureIsBounded(t *testing.T) {
	var events []sim.Event
	const each = 4 * followedMax
	for i := range each {
		events = append(events,
			sim.Event{Node: "scheduler-1", Kind: sim.KindRedis, Job: fmt.Sprintf("job-%d", i+2)},
			sim.Event{Node: "scheduler-1", Kind: sim.KindReceive, Phase: "heartbeat"},
			sim.Event{Node: "scheduler-1", Kind: sim.KindTimer, Name: "ticker"},
		)
	}
	events = append(events, published("scheduler-1", "jobs", 1))
	a := of(&scenarios.Result{}, events...)
	kinds, last := map[Kind]int{}, map[Kind]int64{}
	for _, m := range a.Marks {
		kinds[m.Kind]++
		last[m.Kind] = m.At
	}
	assert.Equal(t, othersMax+1, kinds[Redis]+kinds[Message])
	assert.LessOrEqual(t, kinds[Keeping], keepingMax)
	assert.Greater(t, kinds[Keeping], keepingMax/3)
	assert.Greater(t, last[Keeping], a.End*99/100)
	assert.Equal(t, 2*each+1-len(a.Marks), a.Left, "waiting is no step")
	assert.EqualValues(t, othersMax*3+1, a.LeftFrom/1000)
	assert.Zero(t, a.Lost)
	assert.Greater(t, a.Every, 8)
	assert.Equal(t, "job-1", a.Jobs[a.Marks[len(a.Marks)-1].Job])

	events = nil
	for range followedMax + 2 {
		events = append(events, sim.Event{Node: "scheduler-1", Kind: sim.KindRedis, Job: "job-1"})
	}
	a = of(&scenarios.Result{Violations: []scenarios.Violation{{Invariant: "x", Step: followedMax + 2}}}, events...)
	assert.Equal(t, followedMax+1, a.Lost)
	assert.Equal(t, followedMax+2, a.Marks[len(a.Marks)-1].Step, "what broke something is there all the same")

	for i := range events {
		events[i].Fault = "refusal"
	}
	a = of(&scenarios.Result{Violations: []scenarios.Violation{{Invariant: "x", Step: followedMax + 2}}, Cause: &why.Cause{Path: []why.Point{{Step: followedMax + 1}}}}, events...)
	require.Len(t, a.Marks, strikingMax+2)
	assert.Equal(t, []int{followedMax + 1, followedMax + 2}, []int{a.Marks[strikingMax].Step, a.Marks[strikingMax+1].Step}, "however much was struck")

	events = append(events, events[0])
	a = of(&scenarios.Result{}, events...)
	assert.Equal(t, strikingMax+1, a.Struck)
	assert.Equal(t, strikingMax+1, a.Lost, "of the job that the page follows, too")
}

// Steps of no job are left out evenly, and arrows go on leading where they led.
func TestArrowsSurviveWhatIsLeftOut(t *testing.T) {
	var events []sim.Event
	for range keepingMax {
		events = append(events, sim.Event{Node: "scheduler-1", Kind: sim.KindReceive, Phase: "heartbeat"})
	}
	poison := published("client", "sys.job.submit", 7)
	poison.Job = ""
	delivered := sim.Event{Node: "scheduler-1", Kind: sim.KindDeliver, Target: "sys.job.submit", Seq: 7, Delivered: 1}
	events = append(append([]sim.Event{poison, delivered}, events...), published("scheduler-1", "jobs", 1), told("worker-1", sim.KindDeliver, 1, 1))
	a := of(&scenarios.Result{}, events...)
	require.Len(t, a.Arrows, 2)
	for i, ends := range [][2]string{{"client", "scheduler-1"}, {"scheduler-1", "worker-1"}} {
		assert.Equal(t, ends, [2]string{a.Lanes[a.Marks[a.Arrows[i].From].Lane], a.Lanes[a.Marks[a.Arrows[i].To].Lane]})
	}
	assert.Equal(t, 2, a.Every)
}

// A failover belongs to no job, and what it makes of a followed job's record is there, as is what others write into it.
func TestEveryChangeOfAFollowedRecordIsThere(t *testing.T) {
	failover := sim.Event{Kind: sim.KindControl, Name: "failover", Target: "redis"}
	for i := range 30 {
		failover.Changes = append(failover.Changes, sim.Change{Key: "job:job-1", Field: fmt.Sprint("f", i), Gone: true}, sim.Change{Key: "job:job-2", Field: "state", Value: "PENDING"})
	}
	tick := sim.Event{Node: "scheduler-1", Kind: sim.KindRedis, Changes: []sim.Change{{Key: "job:job-1", Field: "state", Value: "TIMEOUT"}}}
	a := of(&scenarios.Result{}, failover, tick)
	require.Len(t, a.Marks, 2)
	assert.Len(t, a.Marks[0].Changes, 30)
	assert.Zero(t, a.Marks[0].More)
	assert.Equal(t, []Change{{Key: "job:job-1", Field: "state", Value: "TIMEOUT"}}, a.Marks[1].Changes)
}

// A step goes by what its node has read in the same handling, or in the same tick.
func TestWhatAStepWentBy(t *testing.T) {
	set := func(state string) sim.Event {
		return sim.Event{Node: "scheduler-2", Kind: sim.KindRedis, Job: "job-1", Phase: "result_write", Changes: []sim.Change{{Key: "job:job-1", Field: "state", Value: state}}}
	}
	read := sim.Event{Node: "scheduler-1", Kind: sim.KindRedis, Job: "job-1", Target: "job:job-1", Phase: "state_read"}
	listed := sim.Event{Node: "scheduler-1", Kind: sim.KindRedis, Target: "job:job-1", Phase: "reconcile_read"}
	write := sim.Event{Node: "scheduler-1", Kind: sim.KindRedis, Job: "job-1", Phase: "running_write"}
	a := of(&scenarios.Result{}, set("RUNNING"), told("scheduler-1", sim.KindDeliver, 1, 1), write, read, write, told("scheduler-1", sim.KindAck, 1, 1), write,
		set("SUCCEEDED"), listed, write, sim.Event{Kind: sim.KindControl, Name: "crash", Target: "scheduler-1"}, write)
	var went []string
	for _, m := range a.Marks {
		if m.Went != "" {
			went = append(went, fmt.Sprintf("%d: %s", m.Step, m.Went))
		}
	}
	assert.Equal(t, []string{"5: reads RUNNING, at step 4", "6: reads RUNNING, at step 4", "10: reads SUCCEEDED, at step 9"}, went)
}

// A run of which nothing can be drawn has lists all the same: the script goes through them.
func TestAnEmptyPictureHasNoNull(t *testing.T) {
	data, err := json.Marshal(New(plans.Defaults(), &scenarios.Result{}, nil).Axis())
	require.NoError(t, err)
	assert.NotContains(t, string(data), "null")
}
