package lasting

import (
	"cmp"
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
}

// NewFollower follows a run in which a worker counts as alive for so long after a heartbeat.
func NewFollower(workerTTL time.Duration) *Follower {
	return &Follower{workerTTL: workerTTL, open: map[string]*Span{}, busy: map[string][]bool{}}
}

// Next takes the next event. It says what begins with it, and what has ended by then, those that ran out before it among
// them.
func (f *Follower) Next(e *sim.Event) (begun, ended []*Span) {
	f.begun, f.ended = nil, nil
	f.runOut(e.At)
	switch e.Kind {
	case sim.KindDeliver:
		f.begin(handling(e), e, &Span{Node: e.Node, Job: e.Job, What: Handles, Of: e.Target, Message: Message{e.Target, e.Seq}})
	case sim.KindAck, sim.KindNak, sim.KindTerm:
		f.end(handling(e), e.At)
	case history.KindEffect:
		if key := "executes " + e.Node + " " + e.Job; e.Name == "begin" {
			f.begin(key, e, &Span{Node: e.Node, Job: e.Job, What: Executes, Of: e.Job})
		} else {
			f.end(key, e.At)
		}
	case sim.KindReceive:
		if e.Target == history.SubjectBeat && e.Phase == heartbeat && strings.HasPrefix(e.Node, history.SchedulerNodes) {
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

// heartbeat is the phase of a worker's heartbeat, whose tag is the worker and no job.
const heartbeat = "heartbeat"

func handling(e *sim.Event) string {
	return "handles " + e.Node + " " + e.Target + " " + strconv.FormatUint(e.Seq, 10)
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

// During is what a step is part of: what its node is at for its job, and began last; nil is nothing.
func (f *Follower) During(e *sim.Event) *Span {
	var last *Span
	for _, s := range f.open {
		if s.Node == e.Node && s.Job == e.Job && (s.What == Handles || s.What == Executes) && (last == nil || s.Step > last.Step) {
			last = s
		}
	}
	return last
}
