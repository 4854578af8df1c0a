package replay

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var deadLettersTakeTurns = rule.New(invariants.Invariant{
	Name:   "dead-letters-take-turns",
	Says:   "While a dead letter is due, the replay worker visits every other one once at most: those that it fails at keep nobody waiting. A visit does not count if in the end nothing could be written about its letter.",
	Kind:   invariants.Always,
	Source: "Dead letters, replay worker",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{LetterVisited: func(s *model.Step, v *model.Visit) {
		t.Exercise()
		for _, id := range v.Again {
			t.Violation(f.Job(id), "its dead letter is due, and waits at step %d while %s has visited that of %s for the second time", invariants.StepNo(s.Step), v.Process, v.ID)
		}
	}}
})
