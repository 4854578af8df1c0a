package judge

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"

	"github.com/wavetank-sim/wavetank/sim"
)

// lockChanged takes in a change of a lock's key, and says whether the step's own job's lock was
// taken or extended by it.
func (j *observer) lockChanged(s *step, c *sim.Change) bool {
	f := j.facts
	own := j.concerning(s)
	own.about = f.job(c.Key[len(history.LockPrefix):])
	if own.about == nil {
		return false
	}
	if own.about != s.about {
		own.handling = own.about.handling(s.Event)
	}
	l := &own.about.lock
	change := &j.lockChange
	*change = lockChange{was: *l}
	switch {
	case c.Gone:
		change.gone = true
		*l = lock{}
	case l.token != c.Value || l.node == "":
		change.taken = true
		*l = lock{node: s.Node, incarnation: s.Incarnation, token: c.Value, expires: c.Expires, step: s.Step}
		for i := range own.about.handlings {
			if h := own.about.handlings[i]; h.expires != 0 && s.At >= h.expires {
				f.reach(lockOverstayed)
			}
		}
		if s.failed {
			f.count.lockLeft++
			l.abandoned = s.At
		} else if s.Phase == "lock_acquire" {
			f.mixed = f.mixed || own.about.handling(s.Event) != nil
			own.about.handlings = append(own.about.handlings, handling{
				node: s.Node, incarnation: s.Incarnation, lock: s.Step, expires: c.Expires, attempts: own.about.attempts,
			})
		}
	default:
		change.extended = c.Expires == 0 && l.expires != 0 || c.Expires > l.expires+slack
		if s.Kind == sim.KindLate && l.abandoned != 0 {
			l.abandoned = s.At // its holder had sent the renewal before
		}
		l.expires = c.Expires
		if own.handling != nil && change.extended {
			own.handling.expires = c.Expires
		}
	}
	for _, check := range j.locked {
		check(own, change)
	}
	if own.about == s.about && change.taken {
		s.handling = s.about.handling(s.Event)
	}
	return own.about == s.about && (change.taken || change.extended)
}

// lockAnswered takes in what came of asking for a lock, or for more time with it.
func (j *observer) lockAnswered(s *step, locked bool) {
	f := j.facts
	switch {
	case s.Phase == "lock_acquire":
		s.about.begin(invariants.Process(s.Node, s.Incarnation))
	case strings.Contains(s.Outcome, history.ScriptUnknown): // for want of its script, and is repeated
	case s.failed || s.Kind == sim.KindRedis && !locked:
		if s.handling != nil {
			if s.handling.renewals++; s.handling.renewals == f.config.MaxRenewalFailures {
				f.reach(lockAbandoned)
			}
		}
	case s.handling != nil:
		s.handling.renewals = 0
	}
	if !s.failed && !locked && s.Phase == "lock_acquire" && s.Kind == sim.KindRedis {
		if l := &s.about.lock; l.live(s.At) && l.node != s.Node {
			f.reach(contended)
		}
	}
}

// lockReleased takes in a step of giving a lock back. The first one ends the handling, even if it hangs:
// the renewal has been drained by then, and nothing follows but the release itself. While that goes on the
// lock may expire, and the same process may take another for the same job.
func (j *observer) lockReleased(s *step) {
	f := j.facts
	if s.handling != nil {
		s.about.release(s)
		j.handled(s)
	}
	r := s.about.releasing(s)
	if r == nil {
		return // no handling ended by it
	}
	if s.Outcome == sim.OutcomePending {
		r.hung = s.Name
		return
	}
	if l := &s.about.lock; s.failed && l.heldBy(s.Event) && l.abandoned == 0 && (r.lock == l.step || r.lock == 0) {
		f.come(s.about, lockLeft)
		if r.lock != 0 {
			l.abandoned = s.At
		}
	}
	if r.hung != "" {
		s.about.releases = slices.DeleteFunc(s.about.releases, func(o release) bool { return o == *r })
	}
}

// handled takes in the end of the step's handling.
func (j *observer) handled(s *step) {
	f, h := j.facts, s.handling
	if h.closed() {
		f.reach(failedClosed)
	}
	if h.foundNobody() {
		f.come(s.about, noWorkerTook)
		if f.knowsStaleWorker(s) {
			f.reach(staleWorkerMet)
		}
	}
	for _, check := range j.released {
		check(s)
	}
	s.about.end(h)
	s.handling = nil
}

// beginsRelease says whether the step is the first of those in which a lock is given back.
func beginsRelease(s *step) bool {
	return s.Phase == "lock_release" && s.Kind == sim.KindRedis && (s.Name == "watch" || s.Name == "del")
}

// release notes that the step's handling begins to give its lock back. Those of its process that went
// before are over, but for one that hangs.
func (j *job) release(s *step) {
	r := release{node: s.Node, incarnation: s.Incarnation, lock: s.handling.lock}
	if j.twice(s.Event) {
		r.lock = 0
	}
	j.releases = slices.DeleteFunc(j.releases, func(o release) bool { return o.by(s.Event) && o.hung == "" })
	j.releases = append(j.releases, r)
}

// releasing returns the release that the step belongs to, or nil: what returns late is of the first that
// hangs in that operation, and all else of the last.
func (j *job) releasing(s *step) (found *release) {
	for i := range j.releases {
		r := &j.releases[i]
		switch {
		case !r.by(s.Event):
		case s.Kind != sim.KindReturn && r.hung == "":
			found = r
		case s.Kind == sim.KindReturn && r.hung == s.Name:
			return r
		}
	}
	return found
}

func (r *release) by(e *sim.Event) bool { return r.node == e.Node && r.incarnation == e.Incarnation }

// twice says whether the event's process has more than one handling of the job under way.
func (j *job) twice(e *sim.Event) bool {
	n := 0
	for i := range j.handlings {
		if h := &j.handlings[i]; h.node == e.Node && h.incarnation == e.Incarnation {
			n++
		}
	}
	return n > 1
}

// onTime notes, once, that a handling goes on after its lock has expired.
func (j *observer) onTime(s *step) {
	switch s.Phase {
	case "lock_acquire", "replay_read", "processed_read", "inflight_write", "processed_write":
		return // it may be another's, who has the job from elsewhere
	}
	if h := s.handling; h.expires != 0 && s.At >= h.expires && !h.overdue {
		h.overdue = true
		for _, check := range j.overdue {
			check(s)
		}
	}
}

// closed says whether the handling gave up because its state read had failed.
func (h *handling) closed() bool {
	return h.readFailed != 0 && !h.wrote && !h.published && !h.storeFailed
}

// foundNobody says whether the handling scheduled the job and went no further, without an error.
func (h *handling) foundNobody() bool {
	return h.scheduled && !h.intended && !h.published && !h.storeFailed && !h.failed
}
