package invariants

import (
	"strings"

	"github.com/faultline-sim/faultline/sim"
)

// lockChanged takes in a change of a lock's key, and says whether the step's own job's lock was
// taken or extended by it.
func (j *Judge) lockChanged(s *step, c *sim.Change) bool {
	f := j.facts
	own := j.concerning(s)
	own.job = f.job(c.Key[len(lockPrefix):])
	if own.job == nil {
		return false
	}
	if own.job != s.job {
		own.h = own.job.handling(s.Event)
	}
	l := &own.job.lock
	change := &j.lockChange
	*change = lockChange{was: *l}
	switch {
	case c.Gone:
		change.gone = true
		*l = lock{}
	case l.token != c.Value || l.node == "":
		change.taken = true
		*l = lock{node: s.Node, incarnation: s.Incarnation, token: c.Value, expires: c.Expires, step: s.Step}
		for i := range own.job.handlings {
			if h := own.job.handlings[i]; h.expires != 0 && s.At >= h.expires {
				f.meet(own.job, lockOverstayed)
			}
		}
		if s.failed {
			f.meet(own.job, ambiguousLock)
			l.abandoned = s.At
		} else if s.Phase == "lock_acquire" {
			f.mixed = f.mixed || own.job.handling(s.Event) != nil
			own.job.handlings = append(own.job.handlings, handling{
				node: s.Node, incarnation: s.Incarnation, expires: c.Expires, attempts: own.job.attempts,
			})
		}
	default:
		change.extended = c.Expires == 0 && l.expires != 0 || c.Expires > l.expires+slack
		l.expires = c.Expires
		if own.h != nil && change.extended {
			own.h.expires = c.Expires
		}
	}
	for _, check := range j.locked {
		check(own, change)
	}
	if own.job == s.job {
		s.h = s.job.handling(s.Event)
	}
	return own.job == s.job && (change.taken || change.extended)
}

// lockAnswered takes in what came of asking for a lock, or for more time with it.
func (j *Judge) lockAnswered(s *step, locked bool) {
	f := j.facts
	switch {
	case s.Phase == "lock_acquire":
		s.job.begin(process(s.Node, s.Incarnation))
		if s.failed {
			f.meet(s.job, lockError)
		}
	case strings.Contains(s.Outcome, scriptUnknown): // for want of its script, and is repeated
	case s.failed || s.Kind == sim.KindRedis && !locked:
		f.meet(s.job, renewalFailed)
		if s.h != nil {
			if s.h.renewals++; s.h.renewals == f.cfg.MaxRenewalFailures {
				f.meet(s.job, lockAbandoned)
			}
		}
	case s.h != nil:
		s.h.renewals = 0
	}
	if !s.failed && !locked && s.Phase == "lock_acquire" && s.Kind == sim.KindRedis {
		if l := &s.job.lock; l.live(s.At) && l.node != s.Node {
			f.meet(s.job, contended)
		}
	}
}

// lockReleased takes in a step of giving a lock back. The first one ends the handling: the renewal has
// been drained by then, and nothing follows but the release itself.
func (j *Judge) lockReleased(s *step) {
	f := j.facts
	if s.failed {
		if l := &s.job.lock; l.heldBy(s.Event) && l.abandoned == 0 {
			l.abandoned = s.At
			f.meet(s.job, lockLeft)
		}
	}
	h, by := s.h, process(s.Node, s.Incarnation)
	if h == nil || !beginsRelease(s) && s.job.releasing == by {
		return // the rest of a release is not the end of another handling
	}
	s.job.releasing = by
	if h.closed() {
		f.meet(s.job, failedClosed)
	}
	f.keep(s.job, h, s.At)
	if h.foundNobody() {
		f.meet(s.job, noWorkerTook)
		if f.knowsStaleWorker(s) {
			f.meet(s.job, staleWorkerMet)
		}
	}
	for _, check := range j.released {
		check(s)
	}
	s.job.end(h)
}

// beginsRelease says whether the step is the first of those in which a lock is given back.
func beginsRelease(s *step) bool { return s.Name == "watch" || s.Name == "del" }

// onTime notes, once, that a handling goes on after its lock has expired.
func (j *Judge) onTime(s *step) {
	switch s.Phase {
	case "lock_acquire", "replay_read", "processed_read", "inflight_write", "processed_write":
		return // it may be another's, who has the job from elsewhere
	}
	if h := s.h; h.expires != 0 && s.At >= h.expires && !h.overdue {
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
