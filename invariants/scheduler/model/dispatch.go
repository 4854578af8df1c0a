package model

import (
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Pick is a process's choice of a worker; without a node there is none.
type Pick struct {
	Node        string
	Incarnation int
	At          time.Duration
}

// Intent is a DISPATCHED write; its step is 0 for none.
type Intent struct {
	Worker string
	Epoch  int64
	Step   int
	Stored bool // a stream holds a dispatch of it, or a worker
	Lost   bool // one that was stored went before a worker had it
	Pick   Pick // by who wrote it

	Updated int64 // the record's updated_at, by which one is known that a failover brings back
}

// by says whether a process of the node wrote the intent.
func (i *Intent) by(node string) bool { return i.Step != 0 && i.Pick.Node == node }

// Matches says whether d was published for the intent.
func (i *Intent) Matches(d *Dispatch) bool {
	return i.Step != 0 && (d.Epoch == 0 || d.Epoch == i.Epoch)
}

// lateWrite is a DISPATCHED write, or one that may make its record, on its way: its caller has given it up.
type lateWrite struct {
	phase, name string // the operation and its occurrence, which its late effect has too
	occurrence  int
	at          time.Duration // when it set out
	pick        Pick          // of a DISPATCHED write
}

// Queued is a dispatch in the outbox; its step is 0 for none.
type Queued struct {
	Step   int  // when it was written
	Stored bool // a stream has stored it since
}

// Dispatch is one message that the dispatch stream stored.
type Dispatch struct {
	Worker  string // "" for a topic
	Subject string
	Epoch   int64 // 0 for none
	Seq     uint64
	Step    int
	At      time.Duration  // likewise
	Handed  int            // the step at which a worker was given it last; 0 for none
	given   time.Duration  // when
	acked   bool           // by one
	settled bool           // and the server has heard of that, whatever the worker was told; not if it was handed out again
	Begun   int            // the step at which its worker began it; 0 for never
	Lost    bool           // the stream does not hold it any more
	Attempt int            // as its packet has it; only an audit looks
	Order   *history.Order // what it says, while it is stored; nil if nobody can read it
}

// Delayed notes when a write set out that is given up by its caller, and whose choice it is if it is a DISPATCHED one.
func (j *Job) Delayed(s *Step) {
	w := lateWrite{phase: s.Phase, name: s.Name, occurrence: s.Occurrence, at: s.At}
	switch {
	case s.Fault != history.FaultLate || !strings.HasSuffix(s.Phase, "_write"):
		return
	case s.Phase == "dispatched_write" && s.Handling != nil && s.Handling.Scheduled:
		w.pick = s.Handling.Pick
	case j.State != Absent:
		return
	}
	j.late = append(j.late, w)
}

// arrives takes out the write whose late effect the step is; it is false if there is none.
func (j *Job) arrives(s *Step) (w lateWrite, is bool) {
	i := slices.IndexFunc(j.late, func(w lateWrite) bool {
		return s.Kind == sim.KindLate && w.phase == s.Phase && w.name == s.Name && w.occurrence == s.Occurrence
	})
	if i < 0 {
		return lateWrite{}, false
	}
	w = j.late[i]
	j.late = slices.Delete(j.late, i, i+1)
	return w, true
}

// Expect takes in the deadline that the record has got: it counts from when the write set out that brought it.
func (j *Job) Expect(s *Step) {
	from := j.Touched
	if w, is := j.arrives(s); is {
		from = w.at
	}
	j.DeadlineAt, j.Expected = from+time.Duration(j.Deadline-j.Updated)*time.Millisecond, s.At
}

// Picked says whose choice, and when, the worker is that the step writes down; the zero Pick is unknown.
func (j *Job) Picked(s *Step) Pick {
	if w, is := j.arrives(s); is {
		return w.pick
	}
	switch {
	case s.Rewinds():
		return j.Intent.Pick
	case s.Handling != nil && s.Handling.Scheduled:
		return s.Handling.Pick
	}
	return Pick{s.Node, s.Incarnation, s.At}
}

// Holds says whether the stream holds a dispatch of an epoch, if there are epochs at all.
func (j *Job) Holds(epoch int64) bool {
	for i := range j.Dispatches {
		if d := &j.Dispatches[i]; epoch != 0 && d.Epoch == epoch && (d.Handed > 0 || !d.Lost) {
			return true
		}
	}
	return false
}

// ReadBack takes in that a replica has looked up what the stream holds in the place of its dispatch.
func (f *Facts) ReadBack(s *Step) {
	if h := s.Handling; h != nil && h.Refused && !s.Failed {
		h.Refused = false
		if s.About.Holds(h.Resumed) { // whatever has become of the job by now
			f.Count.Sure(history.CounterResumed, s.About.TopicOf())
		}
	}
}

// HandOut takes in that a worker is given a dispatch of the job at that step, and says whether that is so for a second
// time: a consumer that has lost a part of its state counts from one again.
func (f *Facts) HandOut(j *Job, seq uint64, step int) (again bool) {
	for i := range j.Dispatches {
		d := &j.Dispatches[i]
		if d.Seq != seq {
			continue
		}
		if d.acked && f.Strikes.forgot != 0 {
			d.acked = false
			f.reachJob(j, f.Strikes.forgot) // else the consumer would know that it was acknowledged
		}
		again = again || d.Handed > 0
		d.Handed, d.given, d.settled = step, f.At, false
		if d.Lost && j.Intent.Matches(d) {
			j.Intent.Stored = true
		}
	}
	return again
}

// Acknowledge takes in that a worker has acknowledged a dispatch of the job, and whether it was told so.
func (j *Job) Acknowledge(seq uint64, told bool) {
	for i := range j.Dispatches {
		if d := &j.Dispatches[i]; d.Seq == seq {
			d.acked, d.settled = d.acked || told, true
		}
	}
}
