package lasting

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/sim"
)

// spans follows events, which it numbers, a second apart, and lists what lasts in the order of its end.
func spans(events ...sim.Event) (list []string) {
	f := NewFollower(30 * time.Second)
	add := func(ended []*Span) {
		for _, s := range ended {
			list = append(list, fmt.Sprintf("%s %s %s-%s", s.Node, s.Title(), s.From, s.To))
		}
	}
	for i := range events {
		e := &events[i]
		e.Step, e.At = i+1, time.Duration(i+1)*time.Second
		_, ended := f.Next(e)
		add(ended)
	}
	add(f.Rest(time.Duration(len(events)) * time.Second))
	return list
}

// changed is a step of scheduler-1 that sets a key, for so long, or removes it.
func changed(key, value string, expires time.Duration) sim.Event {
	return sim.Event{Node: "scheduler-1", Kind: sim.KindRedis, Job: "job-1", Changes: []sim.Change{{Key: key, Value: value, Expires: expires, Gone: value == ""}}}
}

var other = sim.Event{Node: "scheduler-2", Kind: sim.KindRedis, Job: "job-1"}

func TestALockLastsUntilItIsGivenBackTakenOrRunsOut(t *testing.T) {
	lock := func(value string, expires time.Duration) sim.Event {
		return changed("cordum:scheduler:job:job-1", value, expires)
	}
	for says, c := range map[string]struct {
		events []sim.Event
		want   []string
	}{
		"given back": {[]sim.Event{lock("scheduler-1:a", time.Minute), other, lock("", 0), other}, []string{"scheduler-1 locks job-1 1s-3s"}},
		"run out":    {[]sim.Event{lock("scheduler-1:a", 2*time.Second), other, other}, []string{"scheduler-1 locks job-1 1s-2s"}},
		"run out, and taken": {[]sim.Event{lock("scheduler-1:a", 2*time.Second), other, lock("scheduler-2:b", time.Minute), other},
			[]string{"scheduler-1 locks job-1 1s-2s", "scheduler-2 locks job-1 3s-4s"}},
		"renewed": {[]sim.Event{lock("scheduler-1:a", 2*time.Second), lock("scheduler-1:a", time.Minute), other}, []string{"scheduler-1 locks job-1 1s-3s"}},
		"taken": {[]sim.Event{lock("scheduler-1:a", time.Minute), lock("scheduler-2:b", time.Minute), other},
			[]string{"scheduler-1 locks job-1 1s-2s", "scheduler-2 locks job-1 2s-3s"}},
	} {
		assert.Equal(t, c.want, spans(c.events...), says)
	}
	assert.Equal(t, []string{"scheduler-1 locks saga wf-1 1s-2s"}, spans(changed("saga:wf-1:lock", "scheduler-1:a", time.Minute), other))
	assert.Equal(t, []string{"scheduler-1 locks run-1 1s-2s"}, spans(changed("cordum:wf:run:lock:run-1", "scheduler-1:a", time.Minute), other))
	assert.Equal(t, []string{"scheduler-1 holds cordum:reconciler:default 1s-2s"}, spans(changed("cordum:reconciler:default", "scheduler-1:a", time.Minute), other))
	assert.Empty(t, spans(changed("job:job-1", "scheduler-1:a", time.Minute)), "a record is no lock")
}

func TestAHandlingLastsUntilItsAnswer(t *testing.T) {
	told := func(kind sim.Kind, seq uint64) sim.Event {
		return sim.Event{Node: "scheduler-1", Kind: kind, Target: "s/c", Job: "job-1", Seq: seq}
	}
	assert.Equal(t, []string{"scheduler-1 handles s/c 2s-3s", "scheduler-1 handles s/c 1s-4s"},
		spans(told(sim.KindDeliver, 1), told(sim.KindDeliver, 2), told(sim.KindNak, 2), told(sim.KindAck, 1)))
}

// A crash ends what the node does. Redis keeps its locks, and others think for a while that it lives.
func TestACrashEndsWhatItsNodeIsAt(t *testing.T) {
	begins := sim.Event{Node: "worker-1", Kind: "effect", Name: "begin", Job: "job-1"}
	done := sim.Event{Node: "worker-1", Kind: "effect", Name: "done", Job: "job-1"}
	crash := func(node string) sim.Event { return sim.Event{Kind: sim.KindControl, Name: "crash", Target: node} }
	beat := sim.Event{Node: "scheduler-1", Kind: sim.KindReceive, Target: "sys.heartbeat", Phase: "heartbeat", Job: "worker-1"}
	assert.Equal(t, []string{"worker-1 executes job-1 1s-2s", "worker-1 executes job-1 3s-4s", "worker-1 counts as alive 5s-6s"},
		spans(begins, done, begins, crash("worker-1"), beat, other))
	assert.Equal(t, []string{"scheduler-1 locks job-1 1s-3s"}, spans(changed("cordum:scheduler:job:job-1", "scheduler-1:a", time.Minute), crash("scheduler-1"), other))
}

func TestAWorkerLivesForItsTTLAfterItsLastHeartbeat(t *testing.T) {
	beat := sim.Event{Node: "scheduler-1", Kind: sim.KindReceive, Target: "sys.heartbeat", Phase: "heartbeat", Job: "worker-1"}
	elsewhere := beat
	elsewhere.Node = "worker-2"
	var events []sim.Event
	for range 60 {
		events = append(events, other)
	}
	events[0], events[9], events[49], events[59] = beat, beat, beat, elsewhere
	assert.Equal(t, []string{"worker-1 counts as alive 1s-40s", "worker-1 counts as alive 50s-1m0s"}, spans(events...))
}

// A worker that gets a job twice executes it twice at once. The first that begins is the first to end, unless the answer to
// its message says otherwise.
func TestExecutionsOfOneJobAtOneWorkerAreTold(t *testing.T) {
	of := func(seq uint64, kind sim.Kind, phase string) sim.Event {
		return sim.Event{Node: "worker-1", Kind: kind, Target: "worker.worker-1.jobs", Job: "job-1", Phase: phase, Seq: seq}
	}
	dispatch := func(seq uint64) sim.Event { return of(seq, sim.KindDeliver, "job_deliver") }
	notice := of(9, sim.KindDeliver, "notice_deliver")
	ack := func(seq uint64) sim.Event { return of(seq, sim.KindAck, "") }
	effect := func(name string) sim.Event {
		return sim.Event{Node: "worker-1", Kind: "effect", Name: name, Job: "job-1"}
	}
	begin, finish, fail := effect("begin"), effect("finish"), effect("fail")
	for says, c := range map[string]struct {
		events []sim.Event
		want   []string
	}{
		"both end":                   {[]sim.Event{dispatch(1), begin, dispatch(2), begin, finish, ack(1), finish, ack(2)}, []string{"2s-5s", "4s-7s"}},
		"the second is dropped":      {[]sim.Event{dispatch(1), begin, dispatch(2), begin, ack(2), finish, ack(1)}, []string{"4s-5s", "2s-6s"}},
		"the first is dropped":       {[]sim.Event{dispatch(1), begin, dispatch(2), begin, ack(1), finish, ack(2)}, []string{"2s-5s", "4s-6s"}},
		"the first fails":            {[]sim.Event{dispatch(1), begin, dispatch(2), begin, fail, ack(1), finish, ack(2)}, []string{"2s-5s", "4s-7s"}},
		"it succeeds after all":      {[]sim.Event{dispatch(1), begin, fail, dispatch(2), begin, finish, ack(1), finish, ack(2)}, []string{"2s-3s", "5s-8s"}},
		"a notice is no dispatch":    {[]sim.Event{notice, dispatch(1), begin, ack(9), finish, ack(1)}, []string{"3s-5s"}},
		"it comes again meanwhile":   {[]sim.Event{dispatch(1), begin, dispatch(1), dispatch(2), begin, ack(2), finish}, []string{"5s-6s", "2s-7s"}},
		"it comes again, once ended": {[]sim.Event{dispatch(1), begin, finish, dispatch(1), begin, ack(1)}, []string{"2s-3s", "5s-6s"}},
	} {
		var executed []string
		for _, s := range spans(c.events...) {
			if span, is := strings.CutPrefix(s, "worker-1 executes job-1 "); is {
				executed = append(executed, span)
			}
		}
		assert.Equal(t, c.want, executed, says)
	}
}

// What a worker does for a message is no part of another execution that is under way.
func TestAStepIsPartOfWhatItBeginsOrEndsOrOfAHandling(t *testing.T) {
	f := NewFollower(time.Minute)
	var during []string
	for i, e := range []sim.Event{
		{Kind: sim.KindDeliver, Phase: "job_deliver", Seq: 1}, {Kind: "effect", Name: "begin"}, {Kind: sim.KindDeliver, Phase: "job_deliver", Seq: 2},
		{Kind: "effect", Name: "begin"}, {Kind: "effect", Name: "finish"}, {Kind: sim.KindPublish}, {Kind: sim.KindAck, Seq: 1},
	} {
		e.Step, e.At, e.Node, e.Job = i+1, time.Duration(i), "worker-1", "job-1"
		f.Next(&e)
		s := f.During(&e)
		during = append(during, fmt.Sprintf("%s from %d", s.What, s.Step))
	}
	assert.Equal(t, []string{"handles from 1", "executes from 2", "handles from 3", "executes from 4", "executes from 2", "handles from 1", "handles from 1"}, during)
}
