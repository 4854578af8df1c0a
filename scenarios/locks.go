package scenarios

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
	"github.com/wavetank-sim/wavetank/sim"
)

// lock is a lock that expires: of a job, a saga or a run.
type lock struct {
	holder       string // who took it last; "" if it is free
	taken, until time.Duration
	ttl          time.Duration // how long it was taken for
}

// locked follows the holders of locks. An expiry is told when somebody else takes the lock.
func (r *record) locked(f *history.Fact) {
	c, to, name := f.Change, r.ofLock(f.What, f.Job), lockName(f.What, f.Job)
	l := r.locks[c.Key]
	switch {
	case c.Gone:
		delete(r.locks, c.Key)
		r.unlocked(f, to, name)
		return
	case f.Phase != "lock_acquire" && f.Phase != "saga_lock" && f.Phase != "run_lock":
		l.until = c.Expires
	default:
		overdue := l.holder != "" && l.until <= f.At
		if overdue {
			*to = add(*to, moment{at: l.until, node: l.holder, says: ranOut, a: name, b: at(l.taken)})
		}
		if !slices.ContainsFunc(*to, func(m moment) bool { return m.says == rollsBack && m.step == f.Step }) { // that moment says so itself
			*to = add(*to, moment{at: f.At, step: f.Step, node: f.Node, says: took, a: name, quiet: !overdue})
		}
		l = lock{f.Node, f.At, c.Expires, c.Expires - f.At}
	}
	r.locks[c.Key] = l
}

// foundTaken tells that a lock was taken.
func (r *record) foundTaken(e *sim.Event) {
	if l := r.locks[e.Target]; len(e.Changes) == 0 && l.holder != "" && history.AnswerOf(e) == history.Done {
		what, of := history.KeyOf(e.Target)
		tell(r.ofLock(what, of), e, busy, lockName(what, of), holderTo(e.Node, l.holder)+" since "+at(l.taken)+" (TTL "+strictyaml.DurationText(l.ttl.Round(time.Second))+")", 0)
	}
}

func lockName(what history.What, of string) string {
	if what == history.SagaLock {
		of = "the saga " + of
	}
	return "the lock of " + of
}

// ofLock returns the list for the moments of a lock.
func (r *record) ofLock(what history.What, of string) *[]moment {
	if j := r.job(of); j != nil && what == history.Lock {
		return &j.moments
	}
	if j := r.derived.byID[of]; j != nil && what == history.Lock {
		return &j.moments
	}
	for _, run := range r.runs {
		if run.ID == of && what == history.RunLock {
			return &run.moments
		}
	}
	return &r.derived.trail
}
