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
	Lock        int           // the step at which it took the lock
	Expires     time.Duration // when that expires, as the handling has renewed it; 0 is never
	Prior       int           // the job's attempts when it last read the job
	Cost        int           // attempts that it has cost: how often it wrote SCHEDULED
	Attempt     int           // the record's count after the last of those writes that a pick follows; 0 for none
	Pick        Pick          // of the worker that it would publish to: its own, or that of the intent that it has read

	ReadAt        time.Duration // when it last read the job; 0 is never
	Aged          Aged          // its last check of how old the job's approval is
	Silent        time.Duration // how long the job's worker had been silent when it last read the job
	ReadFailed    int           // the step of a state read that failed and was not repeated; 0 for none
	PublishFailed int           // the step of a publish that failed; 0 for none
	Scheduled     bool          // it wrote SCHEDULED
	Intended      bool          // it wrote DISPATCHED
	Failed        bool          // it wrote FAILED
	Wrote         bool          // it wrote a state at all
	Published     bool          // it tried to publish
	orphan        bool          // it wrote SCHEDULED first, for a job that a replayer of its process had read
	Replays       bool          // likewise, whether or not that is counted
	Stored        bool          // a stream stored what it published
	Entered       bool          // it wrote the DLQ entry
	StoreFailed   bool          // a state write of its own failed
	Safe          bool          // it was told that a replica of Redis has what was written before
	Refused       bool          // the stream holds another message in place of what it published last
	Resumed       int64         // the epoch of that, if an earlier handling had intended it; 0 if not
	Counted       int           // the step at which it counted its tenant's jobs in flight; 0 for none
	Full          bool          // it found its tenant at its limit
	Fencing       string        // the phase of a state write that has read, and not written yet
	Choice        []Candidate   // the workers to pick from; nil if not known
	Preferred     string        // the worker that its job preferred and should have got when it picked; "" if there was none, or it is not known
	Lacks         string        // why it found no worker when it picked; "" if it found one, or it is not known
	Busy          []string      // workers that were overloaded by their last heartbeats when it picked
	Overdue       bool          // it was seen to go on after its lock had expired, or its lock was seen to expire
	OverdueRead   bool          // it read the job as the reconciler does before it ends a job
	Renewals      int           // how many in a row have failed
	Renewed       int           // how many were sent
	Taken         time.Duration // when it took its lock
	Unrenewed     time.Duration // how long it had gone without a renewal when the last one was sent, or its release began; without the time for which its node was away
	renewedAt     time.Duration // when the last renewal was sent, or the lock was taken
	away          time.Duration // how long its node had been away by then
}

// Handling returns the event's process's handling of j, or nil.
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

// Lapsed returns, once, a handling whose lock has expired, although nobody has begun to release it, and which
// was not seen to go on since. It returns nil if there is none.
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
				j.Handlings = nil // it would be most of a job's memory
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

// handledSince is the step at which the event's process took the lock under which it handles the job; 0 if it
// handles none. If there are two, it is the first, since events do not show which one is meant.
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

// FoundNobody says whether the handling scheduled the job and went no further, without an error. The
// reconciler's rollback does not count: it picks no worker.
func (h *Handling) FoundNobody() bool {
	return h.Scheduled && !h.OverdueRead && !h.Intended && !h.Published && !h.StoreFailed && !h.Failed
}

// Overstay notes that a handler went on after its lock had expired.
func (f *Facts) Overstay(s *Step) {
	if h := s.Handling; h.Expires != 0 && s.At >= h.Expires && !s.About.Had(LockOverstayed) {
		f.Come(s.About, LockOverstayed)
	}
}

// Resumes says whether the step's handling publishes another handling's intent.
func (f *Facts) Resumes(s *Step) bool {
	return f.Config.ResumeIntents && f.Config.DispatchOrder != "outbox" && s.Handling != nil && s.About.Intent.Step != 0 && !s.Handling.Intended
}

// Resuming notes which epoch the step's handling is about to publish again, when it waits for a replica or
// publishes. Its job may have moved on by then.
func (f *Facts) Resuming(s *Step) {
	if f.Resumes(s) {
		s.Handling.Resumed = s.About.Epoch
	}
}
