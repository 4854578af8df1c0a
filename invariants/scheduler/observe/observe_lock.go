package observe

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"

	"github.com/wavetank-sim/wavetank/sim"
)

// lockChanged takes in a change of a lock's key, and says whether the step's own job's lock was
// taken or extended by it.
func (j *Observer) lockChanged(s *Step, c *sim.Change) bool {
	f := j.Facts
	own := j.concerning(s)
	own.About = f.Job(c.Key[len(history.LockPrefix):])
	if own.About == nil {
		return false
	}
	if own.About != s.About {
		own.Handling = own.About.handling(s.Event)
	}
	l := &own.About.Lock
	change := &j.lockChange
	*change = LockChange{Was: *l}
	switch {
	case c.Gone:
		change.Gone = true
		*l = Lock{}
	case l.token != c.Value || l.Node == "":
		change.Taken = true
		*l = Lock{Node: s.Node, Incarnation: s.Incarnation, token: c.Value, Expires: c.Expires, Step: s.Step}
		for i := range own.About.Handlings {
			if h := own.About.Handlings[i]; h.Expires != 0 && s.At >= h.Expires {
				f.Reach(LockOverstayed)
			}
		}
		if s.Failed {
			f.Count.LockLeft++
			l.Abandoned = s.At
		} else if s.Phase == "lock_acquire" {
			f.Mixed = f.Mixed || own.About.handling(s.Event) != nil
			own.About.Handlings = append(own.About.Handlings, handling{
				node: s.Node, incarnation: s.Incarnation, lock: s.Step, Expires: c.Expires, Attempts: own.About.Attempts,
			})
		}
	default:
		change.Extended = c.Expires == 0 && l.Expires != 0 || c.Expires > l.Expires+Slack
		if s.Kind == sim.KindLate && l.Abandoned != 0 {
			l.Abandoned = s.At // its holder had sent the renewal before
		}
		l.Expires = c.Expires
		if own.Handling != nil && change.Extended {
			own.Handling.Expires = c.Expires
		}
	}
	for _, check := range j.locked {
		check(own, change)
	}
	if own.About == s.About && change.Taken {
		s.Handling = s.About.handling(s.Event)
	}
	return own.About == s.About && (change.Taken || change.Extended)
}

// lockAnswered takes in what came of asking for a lock, or for more time with it.
func (j *Observer) lockAnswered(s *Step, locked bool) {
	f := j.Facts
	switch {
	case s.Phase == "lock_acquire":
		s.About.begin(invariants.Process(s.Node, s.Incarnation))
	case strings.Contains(s.Outcome, history.ScriptUnknown): // for want of its script, and is repeated
	case s.Failed || s.Kind == sim.KindRedis && !locked:
		if s.Handling != nil {
			if s.Handling.renewals++; s.Handling.renewals == f.Config.MaxRenewalFailures {
				f.Reach(LockAbandoned)
			}
		}
	case s.Handling != nil:
		s.Handling.renewals = 0
	}
	if !s.Failed && !locked && s.Phase == "lock_acquire" && s.Kind == sim.KindRedis {
		if l := &s.About.Lock; l.Live(s.At) && l.Node != s.Node {
			f.Reach(Contended)
		}
	}
}

// lockReleased takes in a step of giving a lock back. The first one ends the handling, even if it hangs:
// the renewal has been drained by then, and nothing follows but the release itself. While that goes on the
// lock may expire, and the same process may take another for the same job.
func (j *Observer) lockReleased(s *Step) {
	f := j.Facts
	if s.Handling != nil {
		s.About.release(s)
		j.handled(s)
	}
	r := s.About.releasing(s)
	if r == nil {
		return // no handling ended by it
	}
	if s.Outcome == sim.OutcomePending {
		r.hung = s.Name
		return
	}
	if l := &s.About.Lock; s.Failed && l.HeldBy(s.Event) && l.Abandoned == 0 && (r.lock == l.Step || r.lock == 0) {
		f.come(s.About, LockLeft)
		if r.lock != 0 {
			l.Abandoned = s.At
		}
	}
	if r.hung != "" {
		s.About.releases = slices.DeleteFunc(s.About.releases, func(o release) bool { return o == *r })
	}
}

// handled takes in the end of the step's handling.
func (j *Observer) handled(s *Step) {
	f, h := j.Facts, s.Handling
	if h.Closed() {
		f.Reach(FailedClosed)
	}
	if h.FoundNobody() {
		f.come(s.About, NoWorkerTook)
		if f.knowsStaleWorker(s) {
			f.Reach(StaleWorkerMet)
		}
	}
	for _, check := range j.released {
		check(s)
	}
	s.About.end(h)
	s.Handling = nil
}

// onTime notes, once, that a handling goes on after its lock has expired.
func (j *Observer) onTime(s *Step) {
	switch s.Phase {
	case "lock_acquire", "replay_read", "processed_read", "inflight_write", "processed_write":
		return // it may be another's, who has the job from elsewhere
	}
	if h := s.Handling; h.Expires != 0 && s.At >= h.Expires && !h.overdue {
		h.overdue = true
		for _, check := range j.overdue {
			check(s)
		}
	}
}
