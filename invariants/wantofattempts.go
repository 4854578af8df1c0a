package invariants

var noFailureForWantOfAttempts = Invariant{
	Name:   "no-failure-for-want-of-attempts",
	Says:   "Once the faults are over, no job that found a worker at each attempt ends FAILED for want of attempts, while its scheduler knows of one that is alive and free.",
	Kind:   Always,
	Source: "Scheduler internals, section 1, max scheduling retries: attempts are there for faults",
	check: func(f *facts, t *tally) checker {
		return checker{wrote: func(s *step, w *write) {
			j := s.job
			if w.from == j.state || !j.state.terminal() || j.scheduled < 2 {
				return
			}
			t.exercise()
			if s.h == nil || j.had(noWorkerTook) || s.h.publishFailed != 0 || s.h.storeFailed || f.strikes.underWay() || !j.wants(s) {
				return
			}
			if worker := f.free(s); worker != "" {
				t.violated(j, "%s wrote FAILED at step %d for want of attempts, of which it had %d, although it knew of %s, which was alive and free", who(s.Event), s.Step, j.attempts, worker)
			}
		}}
	},
}

// wants says whether the step ends the job for want of attempts.
func (j *job) wants(s *step) bool {
	for i := range s.Changes {
		if c := &s.Changes[i]; c.Key == recordPrefix+j.id && c.Field == "reason_code" {
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
	if s.job.wish.particular() {
		return ""
	}
	for at, known := range f.heard {
		l := &known.load
		if at.scheduler != s.Node || at.incarnation != s.Incarnation || !l.known || l.choosy || l.overloaded() || known.age(s.At, &f.cfg) > f.cfg.WorkerTTL-doubt {
			continue
		}
		if worker == "" || at.worker < worker {
			worker = at.worker
		}
	}
	return worker
}
