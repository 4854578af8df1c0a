package lasting

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Follower says what begins and what ends with each step of a run.
type Follower struct {
	workerTTL time.Duration
	open      map[string]*Span
	busy      map[string][]bool // by node and kind: which slots
	next      time.Duration     // nothing runs out before; 0: nothing does
	ended     []*Span
	begun     []*Span
	part      *Span            // what the event itself begins or ends
	work      map[work][]*Span // executions that may have a word to say yet, in the order of their beginnings
}

// work is what a worker does for a job, which it may execute more than once at a time.
type work struct{ node, job string }

// NewFollower follows a run in which a worker counts as alive for so long after a heartbeat.
func NewFollower(workerTTL time.Duration) *Follower {
	return &Follower{workerTTL: workerTTL, open: map[string]*Span{}, busy: map[string][]bool{}, work: map[work][]*Span{}}
}

// Next takes the next event. It says what begins with it, and what has ended by then, those that ran out before it among
// them.
func (f *Follower) Next(e *sim.Event) (begun, ended []*Span) {
	f.begun, f.ended, f.part = nil, nil, nil
	f.runOut(e.At)
	switch e.Kind {
	case sim.KindDeliver:
		f.part = &Span{Node: e.Node, Job: e.Job, What: Handles, Of: e.Target, Message: Message{e.Target, e.Seq}, dispatch: e.Phase == "job_deliver"}
		f.begin(handling(e), e, f.part)
	case sim.KindAck, sim.KindNak, sim.KindTerm:
		f.answer(e)
	case history.KindEffect:
		f.execute(e)
	case sim.KindReceive:
		if e.Target == history.SubjectBeat && history.Beats(e) && strings.HasPrefix(e.Node, history.SchedulerNodes) {
			f.renew("lives "+e.Job, e, &Span{Node: e.Job, What: Lives, Of: e.Job, until: e.At + f.workerTTL})
		}
	case sim.KindControl:
		if e.Name == "crash" {
			f.leave(e.Target, e.At)
		}
	}
	for i := range e.Changes {
		f.change(e, &e.Changes[i])
	}
	return f.begun, f.ended
}

func handling(e *sim.Event) string {
	return "handles " + e.Node + " " + e.Target + " " + strconv.FormatUint(e.Seq, 10)
}

// answer ends the handling of a message, and the execution that it asked for: one that was dropped has no word of its own.
func (f *Follower) answer(e *sim.Event) {
	key := handling(e)
	f.part = f.open[key]
	f.end(executionOf(key), e.At)
	f.end(key, e.At)
	of := work{e.Node, e.Job}
	f.work[of] = slices.DeleteFunc(f.work[of], func(s *Span) bool { return s.key == executionOf(key) })
}

func executionOf(handling string) string { return "executes: " + handling }

// execute begins an execution, or ends one. The trace does not say which: those of one job take the same time, so the first
// that began is the first to end. One that failed may succeed after all, until its message is answered.
func (f *Follower) execute(e *sim.Event) {
	of := work{e.Node, e.Job}
	list := f.work[of]
	if e.Name == "begin" {
		f.part = &Span{Node: e.Node, Job: e.Job, What: Executes, Of: e.Job}
		f.begin(f.executionBy(e), e, f.part)
		f.work[of] = append(list, f.part)
		return
	}
	failed := e.Name == "fail"
	i := slices.IndexFunc(list, func(s *Span) bool { return !failed || f.open[s.key] == s })
	if i < 0 {
		return
	}
	f.part = list[i]
	f.end(f.part.key, e.At)
	if !failed {
		f.work[of] = slices.Delete(list, i, i+1)
	}
}

// executionBy is the key of an execution: that of the first dispatch of the job that its worker handles and has not begun to
// execute.
func (f *Follower) executionBy(e *sim.Event) string {
	var first *Span
	for _, s := range f.open {
		if s.dispatch && s.Node == e.Node && s.Job == e.Job && f.open[executionOf(s.key)] == nil && (first == nil || s.Step < first.Step) {
			first = s
		}
	}
	if first == nil {
		return "executes, from step " + strconv.Itoa(e.Step)
	}
	first.dispatch = false
	return executionOf(first.key)
}

// change follows a lock or a lease. Its value is its holder's name and a token.
func (f *Follower) change(e *sim.Event, c *sim.Change) {
	if c.Stream != "" {
		return
	}
	s := &Span{What: Locks, until: c.Expires}
	switch what, of := history.Classify(c); what {
	case history.Lock:
		s.Job, s.Of = of, of
	case history.SagaLock:
		s.Of = "saga " + of
	case history.RunLock:
		s.Of = of
	case history.TickLock:
		s.What, s.Of = Leads, c.Key
	default:
		return
	}
	if c.Gone {
		f.end(c.Key, e.At)
		return
	}
	s.Node, _, _ = strings.Cut(c.Value, ":")
	f.renew(c.Key, e, s)
}

// renew begins a span, or lets the one go on that its node has.
func (f *Follower) renew(key string, e *sim.Event, s *Span) {
	if was := f.open[key]; was != nil && was.Node == s.Node {
		was.until = s.until
		f.mind(s.until)
		return
	}
	f.begin(key, e, s)
}

// begin begins a span, and ends that of the same key.
func (f *Follower) begin(key string, e *sim.Event, s *Span) {
	f.end(key, e.At)
	s.key, s.From, s.Step = key, e.At, e.Step
	slots := f.busy[s.slots()]
	if s.Slot = slices.Index(slots, false); s.Slot < 0 {
		s.Slot = len(slots)
		slots = append(slots, true)
	}
	slots[s.Slot] = true
	f.busy[s.slots()] = slots
	f.open[key] = s
	f.mind(s.until)
	f.begun = append(f.begun, s)
}

func (s *Span) slots() string { return string(s.What) + " " + s.Node }

// mind sees to it that what runs out then does.
func (f *Follower) mind(until time.Duration) {
	if until > 0 && (f.next == 0 || until < f.next) {
		f.next = until
	}
}

func (f *Follower) end(key string, at time.Duration) {
	s := f.open[key]
	if s == nil {
		return
	}
	delete(f.open, key)
	f.busy[s.slots()][s.Slot] = false
	s.To = at
	f.ended = append(f.ended, s)
}

// runOut ends what ran out before at.
func (f *Follower) runOut(at time.Duration) {
	if f.next == 0 || at <= f.next {
		return
	}
	f.endThose(func(s *Span) (time.Duration, bool) { return s.until, s.until > 0 && s.until < at })
	f.next = 0
	for _, s := range f.open {
		f.mind(s.until)
	}
}

// leave ends what a node is at that is gone. What others know of it, and what Redis keeps for it, goes on.
func (f *Follower) leave(node string, at time.Duration) {
	f.endThose(func(s *Span) (time.Duration, bool) {
		return at, s.Node == node && (s.What == Handles || s.What == Executes)
	})
	maps.DeleteFunc(f.work, func(of work, _ []*Span) bool { return of.node == node })
}

// Rest ends what is still under way when the run ends.
func (f *Follower) Rest(at time.Duration) []*Span {
	f.ended = nil
	f.runOut(at)
	f.endThose(func(*Span) (time.Duration, bool) { return at, true })
	return f.ended
}

// endThose ends the spans for which over is true, when it says.
func (f *Follower) endThose(over func(*Span) (time.Duration, bool)) {
	from := len(f.ended)
	for key, s := range f.open {
		if at, is := over(s); is {
			f.end(key, at)
		}
	}
	slices.SortFunc(f.ended[from:], func(a, b *Span) int {
		return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.Step, b.Step), cmp.Compare(a.key, b.key))
	})
}

// During is what the last event that was taken is part of: the handling or the execution that it begins or ends, and else what
// its node handles for its job, and began last; nil is nothing. A worker that executes is at nothing else for the message.
func (f *Follower) During(e *sim.Event) *Span {
	if f.part != nil {
		return f.part
	}
	var last *Span
	for _, s := range f.open {
		if s.What == Handles && s.Node == e.Node && s.Job == e.Job && f.open[executionOf(s.key)] == nil && (last == nil || s.Step > last.Step) {
			last = s
		}
	}
	return last
}
