package invariants

import "time"

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

// found is by how much a reconciler was late for a job that was due: it was there when its tick began, however
// long that takes for all that it finds.
func (f *facts) found(due, at time.Duration) time.Duration {
	if began := f.ticks.reconciler.began; began >= due {
		at = began
	}
	return at - due
}

var overdueJobFoundWithinAPoll = checking(Invariant{
	Name:     "overdue-job-found-within-a-poll",
	OnDemand: true,
	Says:     "A job that is DISPATCHED or RUNNING beyond its timeout, or past its deadline, is brought on by a tick of the reconciler that begins one poll later at most, but for what taking the lock may take.",
	Kind:     Always,
	Source:   "Scheduler internals, section 3, timeout detection and deadline expiration: pollInterval; Dispatch ordering, residual risk window",
}, func(f *facts, t *tally) checker {
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
})
