package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

var noFailureForWantOfAttempts = checking(invariants.Invariant{
	Name:   "no-failure-for-want-of-attempts",
	Says:   "Once the faults are over, no job that found a worker at each attempt ends FAILED for want of attempts, while its scheduler knows of one that is alive and free.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, max scheduling retries: attempts are there for faults",
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		j := s.about
		if w.from == j.state || !j.state.terminal() || j.scheduled < 2 {
			return
		}
		t.exercise()
		if s.handling == nil || j.had(noWorkerTook) || s.handling.publishFailed != 0 || s.handling.storeFailed || f.strikes.underWay() || !j.wants(s) {
			return
		}
		if worker := f.free(s); worker != "" {
			t.violated(j, "%s wrote FAILED at step %d for want of attempts, of which it had %d, although it knew of %s, which was alive and free", invariants.Who(s.Event), s.Step, j.attempts, worker)
		}
	}}
})

// wants says whether the step ends the job for want of attempts.
func (j *job) wants(s *step) bool {
	for i := range s.Changes {
		if c := &s.Changes[i]; c.Key == history.RecordPrefix+j.id && c.Field == "reason_code" {
			return c.Value == "max_scheduling_retries"
		}
	}
	return false
}

// underWay says whether a strike lasts.
func (k *strikes) underWay() bool {
	for i := range k.open {
		if k.open[i].until == 0 {
			return true
		}
	}
	return false
}

// free is a worker that the step's replica could pick for its job, for sure: the first by its name; "" for none.
func (f *facts) free(s *step) (worker string) {
	if s.about.wish.particular() {
		return ""
	}
	for at, known := range f.heard {
		l := &known.load
		if at.scheduler != s.Node || at.incarnation != s.Incarnation || !l.Known || l.Choosy || l.Overloaded() || known.age(s.At, &f.config) > f.config.WorkerTTL-doubt {
			continue
		}
		if worker == "" || at.worker < worker {
			worker = at.worker
		}
	}
	return worker
}
