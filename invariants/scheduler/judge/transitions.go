package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
)

var terminalStatesFinal = checking(invariants.Invariant{
	Name:   "terminal-states-final",
	Says:   "A job in a terminal state stays in it, but for SUCCEEDED, which may become OUTPUT_QUARANTINED.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, terminal states and idempotency",
}, func(_ *model.Facts, t *tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		to := s.About.State
		if to.Terminal() {
			t.exercise()
		}
		if w.From.Terminal() && !allowed[w.From][to] {
			t.violated(s.About, "%s wrote %s at step %d (%s) over the terminal state %s", invariants.Who(s.Event), to, stepNo(s.Step), s.Phase, w.From)
		}
	}}
})

var documentedTransitionsOnly = checking(invariants.Invariant{
	Name:   "documented-transitions-only",
	Says:   "A job's state changes only as the documented state machine allows.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1; Dispatch ordering for the retry and the rollback",
	Needs:  []string{"terminal-states-final"},
}, func(_ *model.Facts, t *tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		t.exercise()
		if !allowed[w.From][s.About.State] {
			t.violated(s.About, "%s moved the job from %s to %s at step %d (%s), which is not documented",
				invariants.Who(s.Event), w.From, s.About.State, stepNo(s.Step), s.Phase)
		}
	}}
})
