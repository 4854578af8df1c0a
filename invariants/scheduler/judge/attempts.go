package judge

import "github.com/wavetank-sim/wavetank/invariants"

var attemptsEqualScheduledWrites = checking(invariants.Invariant{
	Name:   "attempts-equal-scheduled-writes",
	Says:   "A job's attempts equal the SCHEDULED writes that were applied to it.",
	Kind:   invariants.Always,
	Source: "Dispatch ordering, attempt accounting",
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, _ *write) {
		t.exercise()
		j := s.about
		if j.attempts != j.scheduled {
			t.violated(j, "attempts is %d after the write of %s at step %d (%s), but SCHEDULED was written %s",
				j.attempts, j.state, s.Step, s.Phase, invariants.CountOf(j.scheduled, "time", "times"))
			j.scheduled = j.attempts // said once
		}
	}, audited: func(*invariants.End) { auditAttempts(f, t) }}
})

var attemptsDrainByTwo = checking(invariants.Invariant{
	Name:   "attempts-drain-by-two",
	Says:   "A replay whose publish failed and was rolled back costs exactly two attempts; no replay costs more.",
	Kind:   invariants.Always,
	Source: "Dispatch ordering, attempt accounting: SCHEDULED, then rollback SCHEDULED",
	Needs:  []string{"attempts-equal-scheduled-writes"},
}, func(_ *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		if s.handling == nil || s.about.state != scheduled {
			return
		}
		cost := s.about.attempts - s.handling.attempts
		rollback := w.from == dispatched && s.handling.publishFailed != 0
		switch {
		case rollback && cost != 2:
			t.violated(s.about, "the rollback at step %d, after the publish that failed at step %d, left the replay at a cost of %d attempts (%d to %d) instead of 2",
				s.Step, s.handling.publishFailed, cost, s.handling.attempts, s.about.attempts)
		case cost > 2:
			t.violated(s.about, "one replay cost %d attempts by step %d (%d to %d)", cost, s.Step, s.handling.attempts, s.about.attempts)
		}
		if rollback {
			t.exercise()
		}
	}}
})

var attemptsNeverPastCeiling = checking(invariants.Invariant{
	Name:   "attempts-never-past-ceiling",
	Says:   "A job's attempts never pass the ceiling of scheduling retries, at which it moves to FAILED.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, max scheduling retries; Dead letters, retry ceiling before DLQ",
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		if s.about.attempts == w.attempts {
			return
		}
		t.exercise()
		if s.about.attempts > f.config.MaxSchedulingRetries {
			t.violated(s.about, "attempts reached %d at step %d (%s); the ceiling is %d",
				s.about.attempts, s.Step, s.Phase, f.config.MaxSchedulingRetries)
		}
	}, audited: func(*invariants.End) { auditCeiling(f, t) }}
})
