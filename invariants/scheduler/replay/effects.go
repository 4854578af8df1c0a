package replay

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var oneEffectPerKey = rule.New(invariants.Invariant{
	Name:   "one-effect-per-key",
	Says:   "What an idempotency key stands for is done on the outside at most once, over all dispatches, retries, replays and compensations.",
	Kind:   invariants.Always,
	Source: "Dead letters, the production problem: a replayed tool call can create a second ticket",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Effect: func(s *model.Step) {
		if s.Name != "finish" || history.AnswerOf(s.Event) != history.Done {
			return
		}
		t.Exercise()
		if key, first, again := f.Repeated(s); again {
			t.Violation(s.About, "the effect of idempotency key %s was had again at step %d on %s; %s had it at step %d on %s",
				key, invariants.StepNo(s.Step), s.Node, first.Job.ID, invariants.StepNo(first.Step), first.By)
		}
	}}
})
