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
	Says:   "A cancellation that a scheduler is given before the job has a record takes effect: the job ends CANCELLED, or TIMEOUT past its deadline. Judged where that scheduler found no record, failed or died before there was one, or never answered the message.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1: cancelled by user request, whether the request or its cancellation comes first",
}, func(f *model.Facts, t *tally) observe.Checker {
	ahead := map[*model.Job]int{} // the step at which its cancellation was seen to have come before its record
	given := map[*model.Job]int{} // the step of its record, if a scheduler had its cancellation for the first time
	return observe.Checker{
		Read: func(s *model.Step) {
			me := invariants.Process(s.Node, s.Incarnation)
			if j := s.About; s.Phase == "state_read" && !s.Failed && j.State == model.Absent && ahead[j] == 0 && cancellation(j, func(m *model.Message) bool { return m.Holder == me }) {
				ahead[j] = s.Step
			}
		},
		Wrote: func(s *model.Step, w *model.Write) {
			j := s.About
			if ahead[j] == 0 && w.From == model.Absent && s.Handling == nil {
				if cancellation(j, givenInVain) {
					ahead[j] = s.Step
				} else if cancellation(j, givenOnce) {
					given[j] = s.Step
				}
			}
			if ahead[j] == 0 && given[j] != 0 && j.State.Terminal() && cancellation(j, givenOnce) {
				ahead[j] = given[j]
			}
			if ahead[j] == 0 || !j.State.Terminal() || w.From.Terminal() {
				return
			}
			t.exercise()
			if j.State != model.Cancelled && (j.State != model.TimedOut || !pastDeadline(f, j)) {
				t.violated(j, "%s wrote %s at step %d, although a cancellation of the job had come before its record, at step %d", invariants.Who(s.Event), j.State, stepNo(s.Step), stepNo(ahead[j]))
			}
		},
	}
})

// cancellation says whether that is so of one of the job's cancellations.
func cancellation(j *model.Job, so func(*model.Message) bool) bool {
	return slices.ContainsFunc(j.Messages, func(m model.Message) bool { return m.Consumer == history.ConsumerCancel && so(&m) })
}

// givenInVain says whether a scheduler was given the message, and failed or died with it.
func givenInVain(m *model.Message) bool {
	return !m.Done && (m.Delivered > 1 || m.Delivered == 1 && m.Holder == "")
}

// givenOnce says whether a scheduler has the message in hand for the first time. It may yet find the record that is being
// written; but if it still has the message when the job ends, it took all that time to look.
func givenOnce(m *model.Message) bool { return !m.Done && m.Delivered == 1 && m.Holder != "" }
