package judge

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
)

// found is by how much a reconciler was late for a job that was due: it was there when its tick began, however
// long that takes for all that it finds.
func foundLate(f *facts, due, at time.Duration) time.Duration {
	if began := f.ticks.reconciler.began; began >= due {
		at = began
	}
	return at - due
}

var overdueJobFoundWithinAPoll = checking(invariants.Invariant{
	Name:     "overdue-job-found-within-a-poll",
	OnDemand: true,
	Says:     "A job that is DISPATCHED or RUNNING beyond its timeout, or past its deadline, is brought on by a tick of the reconciler that begins one poll later at most, but for what taking the lock may take.",
	Kind:     invariants.Always,
	Source:   "Scheduler internals, section 3, timeout detection and deadline expiration: pollInterval; Dispatch ordering, residual risk window",
}, func(f *facts, t *tally) checker {
	// A tick may ask for its lock twice: it renews it, and takes it anew. Each is over within storeOpTimeout.
	within := f.config.PollInterval + 2*f.config.StoreOpTimeout
	return checker{
		wrote: func(s *step, w *write) {
			if !w.bounded || s.At < w.due {
				return
			}
			t.exercise()
			if late := foundLate(f, w.due, s.At); late > within {
				t.violated(s.about, "it was %s when its time was up at %s, and nobody brought it on for %s, until step %d (%s); a poll is %s",
					w.from, w.due, late, s.Step, s.Phase, f.config.PollInterval)
			}
		},
		ended: func(end *invariants.End) {
			for _, j := range f.order {
				due, bounded := f.due(j)
				if !bounded || end.At < due {
					continue
				}
				t.exercise()
				if late := foundLate(f, due, end.At); late > within {
					t.violated(j, "it is %s, its time was up at %s, and nobody has brought it on for %s; a poll is %s", j.state, due, late, f.config.PollInterval)
				}
			}
		},
	}
})
