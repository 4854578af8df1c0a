package invariants

import (
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// due is when the job's time is up: its timeout's, or its deadline. It is false for a job that may stay as
// it is. It goes by when the events were, and not by the schedulers' stamps; only how long before its
// deadline a job was written is told by its record alone.
func (f *facts) due(j *job) (at time.Duration, bounded bool) {
	switch {
	case j.state == absent || j.state.terminal():
		return 0, false
	case j.state == dispatched:
		at, bounded = j.touched+f.cfg.dispatchTimeout(j.topic), true
	case j.state == running:
		at, bounded = j.touched+f.cfg.RunningTimeout, true
	}
	if j.deadline != 0 && (!bounded || j.deadlineAt < at) {
		at, bounded = j.deadlineAt, true
	}
	return at, bounded
}

// strike is a failure of a reconciler at one job in one tick.
type strike struct {
	job  *job
	tick time.Duration
}

// hinder notes what may keep a reconciler from a job in time: an operation of its own tick that fails, and
// one on a job that is due, or a lock of it that is another's. A reconciler that fails at more than one job
// may take itself for cut off, and then it leaves them all to others.
func (f *facts) hinder(s *step) {
	failed := s.failed && !strings.Contains(s.Outcome, scriptUnknown)
	switch {
	case s.job == nil:
		if failed && (s.Phase == "reconcile_lock" || s.Phase == "reconcile_read") {
			f.meet(nil, timeoutHindered)
		}
		return
	case !strings.HasPrefix(s.Node, schedulerNodes):
		return
	}
	if due, bounded := f.due(s.job); !bounded || s.At < due {
		return
	}
	l := &s.job.lock
	switch {
	case failed:
		this := strike{s.job, f.ticks.reconciler.began}
		if last := f.ticks.failed; last.job != nil && last != this {
			f.meet(nil, timeoutHindered)
		}
		f.ticks.failed = this
		f.meet(s.job, timeoutHindered)
	case s.Phase == "lock_acquire" && s.Kind == sim.KindRedis && l.live(s.At) && l.step != s.Step:
		f.meet(s.job, timeoutHindered)
	}
}

// found is by how much a reconciler was late for a job that was due: it was there when its tick began, however
// long that takes for all that it finds.
func (f *facts) found(due, at time.Duration) time.Duration {
	if began := f.ticks.reconciler.began; began >= due {
		at = began
	}
	return at - due
}

var overdueJobFoundWithinAPoll = Invariant{
	Name:     "overdue-job-found-within-a-poll",
	timed:    true,
	OnDemand: true,
	Says:     "A job that is DISPATCHED or RUNNING beyond its timeout, or past its deadline, is brought on by a tick of the reconciler that begins one poll later at most, but for what taking the lock may take.",
	Kind:     Always,
	Source:   "Scheduler internals, section 3, timeout detection and deadline expiration: pollInterval; Dispatch ordering, residual risk window",
	releases: unprovided | timeoutHindered | allAway | schedulerCrash | paused | lateWrite,
	covered: []cover{
		covers(unprovided, withReconciler, withRenewedTicks, withWholeTicks),
		covers(unprovided, withReconciler, withReleasedTicks, withWholeTicks),
	},
	check: func(f *facts, t *tally) checker {
		// A tick may ask for its lock twice: it renews it, and takes it anew. Each is over within storeOpTimeout.
		within := f.cfg.PollInterval + 2*f.cfg.StoreOpTimeout
		return checker{
			wrote: func(s *step, w *write) {
				if !w.bounded || s.At < w.due {
					return
				}
				t.exercise()
				if late := f.found(w.due, s.At); late > within {
					t.violated(s.job, "it was %s when its time was up at %s, and nobody brought it on for %s, until step %d (%s); a poll is %s",
						w.from, w.due, late, s.Step, s.Phase, f.cfg.PollInterval)
				}
			},
			ended: func(end *End) {
				for _, j := range f.order {
					due, bounded := f.due(j)
					if !bounded || end.At < due {
						continue
					}
					t.exercise()
					if late := f.found(due, end.At); late > within {
						t.violated(j, "it is %s, its time was up at %s, and nobody has brought it on for %s; a poll is %s", j.state, due, late, f.cfg.PollInterval)
					}
				}
			},
		}
	},
}
