package judge

import (
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
)

var cancellationTakesEffect = checking(invariants.Invariant{
	Name:   "cancellation-takes-effect",
	Says:   "A job of which a scheduler was given a cancellation before it had a record ends CANCELLED, or TIMEOUT past its deadline.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1: cancelled by user request, whether the request or its cancellation comes first",
}, func(_ *model.Facts, t *tally) observe.Checker {
	ahead := map[*model.Job]int{} // the step at which a handling of its cancellation read that the job has no record
	return observe.Checker{
		Read: func(s *model.Step) {
			if j := s.About; s.Phase == "state_read" && !s.Failed && j.State == model.Absent && ahead[j] == 0 && cancelInHand(j, invariants.Process(s.Node, s.Incarnation)) {
				ahead[j] = s.Step
			}
		},
		Wrote: func(s *model.Step, w *model.Write) {
			j := s.About
			if ahead[j] == 0 || !j.State.Terminal() || w.From.Terminal() {
				return
			}
			t.exercise()
			if j.State != model.Cancelled && (j.State != model.TimedOut || !pastDeadline(j)) {
				t.violated(j, "%s wrote %s at step %d, although a cancellation of the job had come before its record, at step %d", invariants.Who(s.Event), j.State, stepNo(s.Step), stepNo(ahead[j]))
			}
		},
	}
})

// cancelInHand says whether the process has a cancellation of the job in hand.
func cancelInHand(j *model.Job, process string) bool {
	return slices.ContainsFunc(j.Messages, func(m model.Message) bool { return m.Consumer == history.ConsumerCancel && m.Holder == process })
}
