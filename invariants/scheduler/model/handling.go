package model

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// Handling is one message's handling by one replica: from its lock to the first step of its release.
type Handling struct {
	Node        string
	Incarnation int
	Lock        int           // the step at which it took its lock
	Expires     time.Duration // when that expires, as renewed by it; 0 is never
	Prior       int           // attempts that the job had when it last read it
	Cost        int           // attempts: how often it wrote SCHEDULED
	Attempt     int           // what the record counted after the last of those writes that a pick follows; 0 for none
	Pick        Pick          // of the worker that it would publish to: its own, or that of the intent that it has read

	ReadAt        time.Duration // when it last read the job; 0 is never
	Aged          Aged          // its last look at how old the job's approval is
	Silent        time.Duration // for how long the job's worker had been when it last read the job
	ReadFailed    int           // the step of a state read that failed and was not repeated; 0 for none
	PublishFailed int           // the step of a publish that failed; 0 for none
	Scheduled     bool          // it wrote SCHEDULED
	Intended      bool          // it wrote DISPATCHED
	Failed        bool          // it wrote FAILED
	Wrote         bool          // it wrote a state at all
	Published     bool          // it tried to publish
	orphan        bool          // it wrote SCHEDULED first for what a replayer of its process had read
	Replays       bool          // likewise, whether that is counted or not
	Stored        bool          // a stream stored what it published
	Entered       bool          // it wrote the DLQ entry
	StoreFailed   bool          // a state write of its own failed
	Safe          bool          // it was told that a replica of Redis has what was written before
	Refused       bool          // the stream holds a message in the place of what it published last
	Resumed       int64         // the epoch of that, if an earlier handling had intended it; 0 if not
	Counted       int           // the step at which it counted its tenant's jobs in flight; 0 for none
	Full          bool          // it found its tenant at its limit
	Fencing       string        // the phase of a state write that has looked, and not written yet
	Choice        []Candidate   // what it had to pick from; nil if there is no telling
	Preferred     string        // the worker that its job was to get when it picked, as the one that it prefers; "" if there is no telling, or none
	Lacks         string        // why it found no worker when it picked; "" if there is no telling, or it found one
	Busy          []string      // workers that were overloaded by their last heartbeats when it picked
	Overdue       bool          // it was seen to go on after its lock had expired, or the lock to have run out without it
	OverdueRead   bool          // it read the job as the reconciler does, before it ends it
	Renewals      int           // that have failed in a row
	Renewed       int           // renewals that set out
	Taken         time.Duration // when it took its lock
	Unrenewed     time.Duration // how long it had gone without a renewal when the last one set out, or its release began, but for what its node was away
	renewedAt     time.Duration // when the last one set out, or the lock was taken
	away          time.Duration // for how long its node had been away by then
}

// Handling returns what the event's process has under way for j, or nil.
func (j *Job) Handling(e *sim.Event) *Handling {
	for i := len(j.Handlings) - 1; i >= 0; i-- {
		if h := &j.Handlings[i]; h.Node == e.Node && h.Incarnation == e.Incarnation {
			return h
		}
	}
	return nil
}

// Held notes that the handling has its lock now, and has just asked for it.
func (f *Facts) Held(h *Handling, at time.Duration) {
	var away time.Duration
	if n := f.Nodes[h.Node]; n != nil {
		away = n.Away(at)
	}
	h.Unrenewed = at - h.renewedAt - (away - h.away)
	h.renewedAt, h.away = at, away
}

// Lapsed returns, once, a handling whose lock has run out although nobody has begun to give it back; nil for none. It was not
// seen to go on since.
func (j *Job) Lapsed(at time.Duration) *Handling {
	for i := range j.Handlings {
		if h := &j.Handlings[i]; h.Expires != 0 && at > h.Expires+Slack && !h.Overdue {
			h.Overdue = true
			return h
		}
	}
	return nil
}

func (j *Job) End(h *Handling) {
	for i := range j.Handlings {
		if &j.Handlings[i] == h {
			if j.Handlings = slices.Delete(j.Handlings, i, i+1); len(j.Handlings) == 0 {
				j.Handlings = nil // their memory is most of a job's
			}
			return
		}
	}
}

// HandlesTwice says whether the event's process has more than one handling of the job under way.
func (j *Job) HandlesTwice(e *sim.Event) bool {
	n := 0
	for i := range j.Handlings {
		if h := &j.Handlings[i]; h.Node == e.Node && h.Incarnation == e.Incarnation {
			n++
		}
	}
	return n > 1
}

// handledSince is the step at which the event's process took the lock under which it handles the job: of two at once the
// first, as there is no telling which has asked; 0 for none.
func (j *Job) handledSince(e *sim.Event) (first int) {
	for i := range j.Handlings {
		if h := &j.Handlings[i]; h.Node == e.Node && h.Incarnation == e.Incarnation && (first == 0 || h.Lock < first) {
			first = h.Lock
		}
	}
	return first
}

// FailedClosed says whether the handling gave up because its state read had failed.
func (h *Handling) FailedClosed() bool {
	return h.ReadFailed != 0 && !h.Wrote && !h.Published && !h.StoreFailed
}

// FoundNobody says whether the handling scheduled the job and went no further, without an error. The reconciler's
// rollback is none: it picks no worker.
func (h *Handling) FoundNobody() bool {
	return h.Scheduled && !h.OverdueRead && !h.Intended && !h.Published && !h.StoreFailed && !h.Failed
}

// Overstay notes that a handler went on after its lock had expired.
func (f *Facts) Overstay(s *Step) {
	if h := s.Handling; h.Expires != 0 && s.At >= h.Expires && !s.About.Had(LockOverstayed) {
		f.Come(s.About, LockOverstayed)
	}
}

// Resumes says whether the step's handling publishes what another has intended.
func (f *Facts) Resumes(s *Step) bool {
	return f.Config.ResumeIntents && f.Config.DispatchOrder != "outbox" && s.Handling != nil && s.About.Intent.Step != 0 && !s.Handling.Intended
}

// Resuming notes which epoch the step's handling is about to publish again: as it waits for a replica, or as it publishes.
// Its job may have moved on by then.
func (f *Facts) Resuming(s *Step) {
	if f.Resumes(s) {
		s.Handling.Resumed = s.About.Epoch
	}
}
