package observe

import (
	"context"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

// lockChanged notes a change of a lock's key, and says whether it took or extended the lock of the step's own
// job.
func (o *Observer) lockChanged(s *model.Step, c *sim.Change, of *model.Job) bool {
	f := o.Facts
	own := o.concerning(s)
	if own.About = of; of == nil {
		return false
	}
	if own.About != s.About {
		own.Handling = own.About.Handling(s.Event)
	}
	l := &own.About.Lock
	change := &o.lockChange
	*change = model.LockChange{Was: *l}
	switch {
	case c.Gone:
		change.Gone = true
		*l = model.Lock{}
	case l.Token != c.Value || l.Node == "":
		change.Taken = true
		*l = model.Lock{Node: s.Node, Incarnation: s.Incarnation, Token: c.Value, Expires: c.Expires, Step: s.Step}
		for i := range own.About.Handlings {
			if h := own.About.Handlings[i]; h.Expires != 0 && s.At >= h.Expires {
				f.Reach(model.LockOverstayed)
			}
		}
		if s.Failed {
			f.Count.LockLeft++
			l.Abandoned = s.At
		} else if s.Phase == "lock_acquire" {
			if own.About.Handling(s.Event) != nil {
				own.About.Mixed, f.Mixed = true, true
			}
			own.About.Handlings = append(own.About.Handlings, model.Handling{
				Node: s.Node, Incarnation: s.Incarnation, Lock: s.Step, Expires: c.Expires, Taken: s.At,
			})
			f.Held(own.About.Handling(s.Event), s.At)
		}
	default:
		change.Extended = c.Expires == 0 && l.Expires != 0 || c.Expires > l.Expires+model.Slack
		if s.Kind == sim.KindLate && l.Abandoned != 0 {
			l.Abandoned = s.At // its holder had sent the renewal before
		}
		l.Expires = c.Expires
		if own.Handling != nil && change.Extended {
			own.Handling.Expires = c.Expires
		}
	}
	for _, check := range o.hooks.Locked {
		check(own, change)
	}
	if own.About == s.About && change.Taken {
		s.Handling = s.About.Handling(s.Event)
	}
	return own.About == s.About && (change.Taken || change.Extended)
}

// renewalSetsOut notes that the step's handling asks for more time with its lock.
func (o *Observer) renewalSetsOut(s *model.Step) {
	h := s.Handling
	h.Renewed++
	o.Facts.Held(h, s.At)
	for _, check := range o.hooks.Renews {
		check(s)
	}
}

// lockAnswered notes the outcome of asking for a lock, or for more time with it.
func (o *Observer) lockAnswered(s *model.Step, locked bool) {
	f := o.Facts
	switch {
	case s.Phase == "lock_acquire":
		s.About.Begin(invariants.Process(s.Node, s.Incarnation))
	case strings.Contains(s.Outcome, history.ScriptUnknown): // its script is missing, so it is repeated
	case s.Outcome == context.Canceled.Error(): // its handling has ended, whatever struck it
	case s.Failed || s.Kind == sim.KindRedis && !locked:
		if s.Handling != nil {
			if s.Handling.Renewals++; s.Handling.Renewals == f.Config.MaxRenewalFailures {
				f.Reach(model.LockAbandoned)
				f.Count.Sure(history.CounterRenewalsAbandoned)
			}
		}
	case s.Handling != nil:
		s.Handling.Renewals = 0
	}
	if !s.Failed && !locked && s.Phase == "lock_acquire" && s.Kind == sim.KindRedis {
		if l := &s.About.Lock; l.Live(s.At) && l.Node != s.Node {
			f.Reach(model.Contended)
		}
	}
}

// lockReleased notes a step of a lock's release. The first such step ends the handling, even if it hangs: the
// renewal has been drained by then, and only the release itself follows. Meanwhile the lock may expire, and
// the same process may take another lock for the same job.
func (o *Observer) lockReleased(s *model.Step) {
	f := o.Facts
	if s.Handling != nil {
		f.Held(s.Handling, s.At)
		f.SendsBack(s)
		s.About.Release(s)
		o.handled(s)
	}
	r := s.About.Releasing(s)
	if r == nil {
		return // it ended no handling
	}
	if s.Outcome == sim.OutcomePending {
		r.Hung = s.Name
		return
	}
	if l := &s.About.Lock; s.Failed && l.HeldBy(s.Event) && l.Abandoned == 0 && (r.Lock == l.Step || r.Lock == 0) {
		f.Come(s.About, model.LockLeft)
		if r.Lock != 0 {
			l.Abandoned = s.At
		}
	}
	if r.Hung != "" {
		s.About.Releases = slices.DeleteFunc(s.About.Releases, func(other model.Release) bool { return other == *r })
	}
}

// handled notes the end of the step's handling.
func (o *Observer) handled(s *model.Step) {
	f, h := o.Facts, s.Handling
	if h.FailedClosed() {
		f.Reach(model.FailedClosed)
		f.Count.Sure(history.CounterFailClosed)
	}
	if h.FoundNobody() {
		f.Come(s.About, model.NoWorkerTook)
		if f.KnowsStaleWorker(s) {
			f.Reach(model.StaleWorkerMet)
		}
	}
	if told, asked := f.Told(s); asked && told.Failed && !s.About.Mixed {
		f.Count.Sure(history.CounterUnavailable, s.About.TopicOf())
	}
	for _, check := range o.hooks.Released {
		check(s)
	}
	s.About.End(h)
	s.Handling = nil
}

// onTime notes, once, that a handling goes on after its lock has expired.
func (o *Observer) onTime(s *model.Step) {
	switch s.Phase {
	case "lock_acquire", "replay_read", "processed_read", "inflight_write", "processed_write", "replica_read", "replica_wait":
		return // it may belong to another handling of the job
	}
	if h := s.Handling; h.Expires != 0 && s.At >= h.Expires && !h.Overdue {
		h.Overdue = true
		for _, check := range o.hooks.Overdue {
			check(s)
		}
	}
}
