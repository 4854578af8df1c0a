package replay

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var deadLettersTakeTurns = rule.New(invariants.Invariant{
	Name:   "dead-letters-take-turns",
	Says:   "While a dead letter is due, the replay worker visits every other dead letter at most once. A dead letter at which it fails does not keep the others waiting. A visit does not count if nothing could be written about its dead letter in the end.",
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

var deadLetterIsDoneWith = rule.New(invariants.Invariant{
	Name:   "dead-letter-is-done-with",
	Says:   "After a visit in which nothing failed, the replay worker's list no longer has a dead letter that is not to be replayed.",
	Kind:   invariants.Always,
	Source: "Dead letters, replay worker",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{LetterLeft: func(s *model.Step, v *model.Visit) {
		l := f.Replay.Letters[v.ID]
		if l != nil && l.ReplayStatus == "scheduled" && !l.Lost(s.At) {
			return
		}
		t.Exercise()
		switch {
		case !v.Left(f):
		case l == nil || l.Lost(s.At):
			t.Violation(f.Job(v.ID), "its dead letter is gone, and is still in %s at step %d, after %s has visited it", history.DlqDue, invariants.StepNo(s.Step), v.Process)
		default:
			t.Violation(f.Job(v.ID), "its dead letter is %s, and is still in %s at step %d, after %s has visited it", l.ReplayStatus, history.DlqDue, invariants.StepNo(s.Step), v.Process)
		}
	}}
})
