package judge

import "github.com/wavetank-sim/wavetank/invariants"

var terminalStatesFinal = checking(invariants.Invariant{
	Name:   "terminal-states-final",
	Says:   "A job in a terminal state stays in it, but for SUCCEEDED, which may become OUTPUT_QUARANTINED.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, terminal states and idempotency",
}, func(_ *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		to := s.about.state
		if to.terminal() {
			t.exercise()
		}
		if w.from.terminal() && !allowed[w.from][to] {
			t.violated(s.about, "%s wrote %s at step %d (%s) over the terminal state %s", invariants.Who(s.Event), to, s.Step, s.Phase, w.from)
		}
	}}
})

var documentedTransitionsOnly = checking(invariants.Invariant{
	Name:   "documented-transitions-only",
	Says:   "A job's state changes only as the documented state machine allows.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1; Dispatch ordering for the retry and the rollback",
	Needs:  []string{"terminal-states-final"},
}, func(_ *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		t.exercise()
		if !allowed[w.from][s.about.state] {
			t.violated(s.about, "%s moved the job from %s to %s at step %d (%s), which is not documented",
				invariants.Who(s.Event), w.from, s.about.state, s.Step, s.Phase)
		}
	}}
})
