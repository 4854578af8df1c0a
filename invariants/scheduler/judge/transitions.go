package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var terminalStatesFinal = rule.New(invariants.Invariant{
	Name:   "terminal-states-final",
	Says:   "A job in a terminal state keeps that state, its output, its reason code and its request. Only SUCCEEDED may become OUTPUT_QUARANTINED.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, terminal states and idempotency: duplicate results for jobs that are over are ignored",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{
		Wrote: func(s *model.Step, w *model.Write) {
			to := s.About.State
			if to.Terminal() {
				t.Exercise()
			}
			if w.From.Terminal() && !allowed[w.From][to] {
				t.Violation(s.About, "%s wrote %s at step %d (%s) over the terminal state %s", invariants.Who(s.Event), to, invariants.StepNo(s.Step), s.Phase, w.From)
			}
		},
		Amended: func(s *model.Step, w *model.Write) {
			switch j := s.About; {
			case !w.From.Terminal():
			case j.Request != w.Request:
				t.Violation(j, "%s changed the request of the record at step %d (%s), which is %s", invariants.Who(s.Event), invariants.StepNo(s.Step), s.Phase, w.From)
			case j.Out.Ptr != w.Ptr || j.ReasonCode != w.Code:
				t.Violation(j, "%s changed the record at step %d (%s), which is %s: result_ptr %q to %q, reason_code %q to %q",
					invariants.Who(s.Event), invariants.StepNo(s.Step), s.Phase, w.From, w.Ptr, j.Out.Ptr, w.Code, j.ReasonCode)
			}
		},
	}
})

var documentedTransitionsOnly = rule.New(invariants.Invariant{
	Name:   "documented-transitions-only",
	Says:   "A job's state changes only as the documented state machine allows.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1; Dispatch ordering for the retry and the rollback",
	Needs:  []string{"terminal-states-final"},
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		t.Exercise()
		if !allowed[w.From][s.About.State] {
			t.Violation(s.About, "%s moved the job from %s to %s at step %d (%s), which is not documented",
				invariants.Who(s.Event), w.From, s.About.State, invariants.StepNo(s.Step), s.Phase)
		}
	}}
})
