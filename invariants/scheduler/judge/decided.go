package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var dispatchIsWhatWasDecided = rule.New(invariants.Invariant{
	Name:   "dispatch-is-what-was-decided",
	Says:   "A dispatch has the topic, the payload and the idempotency key of the request that the record kept when SCHEDULED was written: the one on which a safety kernel decides. It goes to the worker that it names.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, submit-time and dispatch-time policy check: what was allowed is what runs",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{
		Stored: func(s *model.Step, d *model.Dispatch) {
			asked := s.About.Decided
			if d.Order == nil || asked == nil {
				return
			}
			t.Exercise()
			switch {
			case d.Order.WorkerID != d.Worker:
				t.Violation(s.About, "the dispatch stored at step %d, %s seq %d, is for %q, and names %q", invariants.StepNo(s.Step), history.StreamJobs, d.Seq, d.Worker, d.Order.WorkerID)
			case !asked.Does(&d.Order.Request):
				t.Violation(s.About, "what was dispatched at step %d, %s seq %d, is not the request of which SCHEDULED was written", invariants.StepNo(s.Step), history.StreamJobs, d.Seq)
			}
		},
	}
})
