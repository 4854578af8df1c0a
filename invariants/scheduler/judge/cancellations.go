package judge

import (
	"slices"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"

	"github.com/wavetank-sim/wavetank/invariants"
)

var withKeptCancellations = provided("keep_cancellations", func(c *config.Config) bool { return c.KeepCancellations })

var cancellationTakesEffect = checking(invariants.Invariant{
	Name:   "cancellation-takes-effect",
	Says:   "A job of which a scheduler was given a cancellation before it had a record ends CANCELLED, or TIMEOUT past its deadline.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1: cancelled by user request, whether the request or its cancellation comes first",
}, func(_ *facts, t *tally) checker {
	ahead := map[*job]int{} // the step at which a handling of its cancellation read that the job has no record
	return checker{
		read: func(s *step) {
			if j := s.about; s.Phase == "state_read" && !s.failed && j.state == absent && ahead[j] == 0 && cancelInHand(j, invariants.Process(s.Node, s.Incarnation)) {
				ahead[j] = s.Step
			}
		},
		wrote: func(s *step, w *write) {
			j := s.about
			if ahead[j] == 0 || !j.state.terminal() || w.from.terminal() {
				return
			}
			t.exercise()
			if j.state != cancelled && (j.state != timedOut || !pastDeadline(j)) {
				t.violated(j, "%s wrote %s at step %d, although a cancellation of the job had come before its record, at step %d", invariants.Who(s.Event), j.state, s.Step, ahead[j])
			}
		},
	}
})

// cancelInHand says whether the process has a cancellation of the job in hand.
func cancelInHand(j *job, process string) bool {
	return slices.ContainsFunc(j.messages, func(m message) bool { return m.consumer == history.ConsumerCancel && m.holder == process })
}
