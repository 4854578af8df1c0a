package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
)

var oneEffectPerKey = checking(invariants.Invariant{
	Name:   "one-effect-per-key",
	Says:   "What an idempotency key stands for is done on the outside at most once, over all dispatches, retries, replays and compensations.",
	Kind:   invariants.Always,
	Source: "Dead letters, the production problem: a replayed tool call can create a second ticket",
}, func(f *model.Facts, t *tally) observe.Checker {
	return observe.Checker{Effect: func(s *model.Step) {
		if s.Name != "finish" || history.AnswerOf(s.Event) != history.Done {
			return
		}
		t.exercise()
		if first, again := f.Repeated(s); again {
			t.violated(s.About, "the effect of idempotency key %s was had again at step %d on %s; %s had it at step %d on %s",
				s.Target, stepNo(s.Step), s.Node, first.Job.ID, stepNo(first.Step), first.By)
		}
	}}
})
