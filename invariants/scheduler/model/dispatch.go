package model

import (
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Pick is a process's choice of a worker; it is empty without a node.
type Pick struct {
	Node        string
	Incarnation int
	At          time.Duration
}

// Intent is a DISPATCHED write; it is empty if its step is 0.
type Intent struct {
	Worker string
	Epoch  int64
	Step   int
	Stored bool // a stream or a worker has a dispatch of it
	Lost   bool // a stored dispatch was lost before a worker had it
	Pick   Pick // the pick of its writer

	Updated int64 // the record's updated_at, which identifies an intent that a failover brings back
}

// by says whether a process of the node wrote the intent.
func (i *Intent) by(node string) bool { return i.Step != 0 && i.Pick.Node == node }

// Matches says whether d was published for the intent.
func (i *Intent) Matches(d *Dispatch) bool {
	return i.Step != 0 && (d.Epoch == 0 || d.Epoch == i.Epoch)
}

// lateWrite is a late DISPATCHED write, or a late write that may make its record. Its caller has given it up.
type lateWrite struct {
	phase, name string // the operation and its occurrence, which its late effect has, too
	occurrence  int
	at          time.Duration // when it was sent
	pick        Pick          // for a DISPATCHED write
}

// Queued is a dispatch in the outbox; it is empty if its step is 0.
type Queued struct {
	Step   int  // when it was written
	Stored bool // a stream has stored it since
}

// Dispatch is a message that the dispatch stream stored.
type Dispatch struct {
	Worker  string // "" for a topic
	Subject string
	Epoch   int64 // 0 for none
	Seq     uint64
	Step    int
	At      time.Duration  // likewise
	Handed  int            // the step at which it was last delivered to a worker; 0 for none
	given   time.Duration  // when that was
	acked   bool           // a worker has acknowledged it
	settled bool           // the server knows of that, whatever the worker was told; false again after another delivery
	Begun   int            // the step at which its worker began it; 0 for never
	Lost    bool           // the stream does not hold it any more
	Attempt int            // from its packet; only for an audit
	Order   *history.Order // its content, while it is stored; nil if it is unreadable
}

// Delayed notes when a write was sent that its caller gives up and, if it is a DISPATCHED write, whose pick
// it has.
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

// arrives removes and returns the late write whose effect the step is; is is false if there is none.
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

// Expect notes the record's new deadline. It counts from when the write that brought it was sent.
func (j *Job) Expect(s *Step) {
	from := j.Touched
	if w, is := j.arrives(s); is {
		from = w.at
	}
	j.DeadlineAt, j.Expected = from+time.Duration(j.Deadline-j.Updated)*time.Millisecond, s.At
}

// Picked returns the pick of the worker that the step writes: who made it, and when. The zero Pick is unknown.
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

// ReadBack notes that a replica has read what the stream holds in place of its dispatch.
func (f *Facts) ReadBack(s *Step) {
	if h := s.Handling; h != nil && h.Refused && !s.Failed {
		h.Refused = false
		if s.About.Holds(h.Resumed) { // whatever the job's state is by now
			f.Count.Sure(history.CounterResumed, s.About.TopicOf())
		}
	}
}

// HandOut notes that a dispatch of the job is delivered to a worker at that step, and says whether it was
// delivered before. A consumer that has lost a part of its state counts from one again.
func (f *Facts) HandOut(j *Job, seq uint64, step int) (again bool) {
	for i := range j.Dispatches {
		d := &j.Dispatches[i]
		if d.Seq != seq {
			continue
		}
		if d.acked && f.Strikes.forgot != 0 {
			d.acked = false
			f.reachJob(j, f.Strikes.forgot) // otherwise the consumer would know that it was acknowledged
		}
		again = again || d.Handed > 0
		d.Handed, d.given, d.settled = step, f.At, false
		if d.Lost && j.Intent.Matches(d) {
			j.Intent.Stored = true
		}
	}
	return again
}

// Acknowledge notes that a worker has acknowledged a dispatch of the job; told says whether the worker got a
// confirmation.
func (j *Job) Acknowledge(seq uint64, told bool) {
	for i := range j.Dispatches {
		if d := &j.Dispatches[i]; d.Seq == seq {
			d.acked, d.settled = d.acked || told, true
		}
	}
}
