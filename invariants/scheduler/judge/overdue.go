package judge

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

// foundLate is by how much a reconciler was late for a job that was due: it was there when its tick began, however
// long that takes for all that it finds.
func foundLate(f *model.Facts, due, at time.Duration) time.Duration {
	if began := f.Ticks.Reconciler.Began; began >= due {
		at = began
	}
	return at - due
}

var overdueJobFoundWithinAPoll = rule.New(invariants.Invariant{
	Name:     "overdue-job-found-within-a-poll",
	OnDemand: true,
	Says:     "A job that is DISPATCHED or RUNNING beyond its timeout, or past its deadline, is brought on by a tick of the reconciler that begins one poll later at most, but for what taking the lock may take.",
	Kind:     invariants.Always,
	Source:   "Scheduler internals, section 3, timeout detection and deadline expiration: pollInterval; Dispatch ordering, residual risk window",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	// A tick may ask for its lock twice: it renews it, and takes it anew. Each is over within storeOpTimeout.
	within := f.Config.PollInterval + 2*f.Config.StoreOpTimeout
	return observe.Checker{
		Wrote: func(s *model.Step, w *model.Write) {
			if !w.Bounded || s.At < w.Due {
				return
			}
			t.Exercise()
			if late := foundLate(f, w.Due, s.At); late > within {
				t.Violation(s.About, "it was %s when its time was up at %s, and nobody brought it on for %s, until step %d (%s); a poll is %s",
					w.From, w.Due, late, invariants.StepNo(s.Step), s.Phase, f.Config.PollInterval)
			}
		},
		Ended: func(end *invariants.End) {
			for _, j := range f.Order {
				due, bounded := f.Due(j)
				if !bounded || end.At < due {
					continue
				}
				t.Exercise()
				if late := foundLate(f, due, end.At); late > within {
					t.Violation(j, "it is %s, its time was up at %s, and nobody has brought it on for %s; a poll is %s", j.State, due, late, f.Config.PollInterval)
				}
			}
		},
	}
})
