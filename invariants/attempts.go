package invariants

var attemptsEqualScheduledWrites = checking(Invariant{
	Name:   "attempts-equal-scheduled-writes",
	Says:   "A job's attempts equal the SCHEDULED writes that were applied to it.",
	Kind:   Always,
	Source: "Dispatch ordering, attempt accounting",
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, _ *write) {
		t.exercise()
		j := s.job
		if j.attempts != j.scheduled {
			t.violated(j, "attempts is %d after the write of %s at step %d (%s), but SCHEDULED was written %s",
				j.attempts, j.state, s.Step, s.Phase, CountOf(j.scheduled, "time", "times"))
			j.scheduled = j.attempts // said once
		}
	}, audited: func(*End) { auditAttempts(f, t) }}
})

var attemptsDrainByTwo = checking(Invariant{
	Name:   "attempts-drain-by-two",
	Says:   "A replay whose publish failed and was rolled back costs exactly two attempts; no replay costs more.",
	Kind:   Always,
	Source: "Dispatch ordering, attempt accounting: SCHEDULED, then rollback SCHEDULED",
	Needs:  []string{"attempts-equal-scheduled-writes"},
}, func(_ *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		if s.h == nil || s.job.state != scheduled {
			return
		}
		cost := s.job.attempts - s.h.attempts
		rollback := w.from == dispatched && s.h.publishFailed != 0
		switch {
		case rollback && cost != 2:
			t.violated(s.job, "the rollback at step %d, after the publish that failed at step %d, left the replay at a cost of %d attempts (%d to %d) instead of 2",
				s.Step, s.h.publishFailed, cost, s.h.attempts, s.job.attempts)
		case cost > 2:
			t.violated(s.job, "one replay cost %d attempts by step %d (%d to %d)", cost, s.Step, s.h.attempts, s.job.attempts)
		}
		if rollback {
			t.exercise()
		}
	}}
})

var attemptsNeverPastCeiling = checking(Invariant{
	Name:   "attempts-never-past-ceiling",
	Says:   "A job's attempts never pass the ceiling of scheduling retries, at which it moves to FAILED.",
	Kind:   Always,
	Source: "Scheduler internals, section 1, max scheduling retries; Dead letters, retry ceiling before DLQ",
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		if s.job.attempts == w.attempts {
			return
		}
		t.exercise()
		if s.job.attempts > f.cfg.MaxSchedulingRetries {
			t.violated(s.job, "attempts reached %d at step %d (%s); the ceiling is %d",
				s.job.attempts, s.Step, s.Phase, f.cfg.MaxSchedulingRetries)
		}
	}, audited: func(*End) { auditCeiling(f, t) }}
})
