package judge

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var cancellationTakesEffect = rule.New(invariants.Invariant{
	Name:   "cancellation-takes-effect",
	Says:   "If a cancellation is stored before its job is over, the job ends CANCELLED, or TIMEOUT past its deadline. The job may end otherwise only for as long as the cancellation may wait for the job's lock, its next delivery and its handling. It may not do so at all if a scheduler was given the cancellation before the job had a record.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1: cancelled by user request, whether the request or its cancellation comes first; jobLockTTL, retryDelayBusy and backoffMax",
	Needs:  []string{"terminal-states-final"}, // a job that runs again is not CANCELLED any more
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	ahead := map[*model.Job]int{} // the step at which a job's cancellation was seen to precede its record
	wait, again := cancellationWait(&f.Config), f.Config.CancelAckWait()
	// The step of a job's record, if a scheduler was given the job's cancellation for the first time by then. It may yet
	// find the record that is being written. But if it still has the cancellation when the job ends, it took all that time
	// to look, and the cancellation counts as given before the record.
	given := map[*model.Job]int{}
	made := map[*model.Job]bool{} // the job has had a record
	return observe.Checker{
		Read: func(s *model.Step) {
			me := invariants.Process(s.Node, s.Incarnation)
			if j := s.About; s.Phase == "state_read" && !s.Failed && j.State == model.Absent && ahead[j] == 0 && cancellation(j, func(m *model.Message) bool { return m.InHandOf(me) }) {
				ahead[j] = s.Step
			}
		},
		Wrote: func(s *model.Step, w *model.Write) {
			j := s.About
			if w.From == model.Absent {
				if made[j] { // its first record was lost, and the cancellation that it kept
					delete(ahead, j)
					delete(given, j)
				}
				made[j] = true
			}
			if ahead[j] == 0 && w.From == model.Absent && s.Handling == nil {
				if cancellation(j, (*model.Message).GivenInVain) {
					ahead[j] = s.Step
				} else if cancellation(j, (*model.Message).GivenOnce) {
					given[j] = s.Step
				}
			}
			if ahead[j] == 0 && given[j] != 0 && j.State.Terminal() && cancellation(j, (*model.Message).GivenOnce) {
				ahead[j] = given[j]
			}
			if !j.State.Terminal() || w.From.Terminal() {
				return
			}
			effective := j.State == model.Cancelled || j.State == model.TimedOut && pastDeadline(f, j)
			asked, late := unheeded(j, s.At-wait, again)
			switch {
			case ahead[j] == 0 && !late && (!effective || !asked):
				return // nobody wanted it cancelled, or it has overtaken the cancellation
			case !effective && ahead[j] != 0:
				t.Violation(j, "%s wrote %s at step %d, although a cancellation of the job had come before its record, at step %d", invariants.Who(s.Event), j.State, invariants.StepNo(s.Step), invariants.StepNo(ahead[j]))
			case !effective:
				t.Violation(j, "%s wrote %s at step %d, although a cancellation of the job had been stored more than %s before", invariants.Who(s.Event), j.State, invariants.StepNo(s.Step), wait)
			}
			t.Exercise()
		},
		Ended: func(end *invariants.End) {
			for _, j := range f.Order {
				if _, late := unheeded(j, end.At-wait, again); late && j.State != model.Absent && !j.State.Terminal() {
					t.Exercise()
					t.Violation(j, "is still %s, although a cancellation of it has been stored for more than %s", j.State, wait)
				}
			}
		},
	}
})

var cancelledOnlyWhenAsked = rule.New(invariants.Invariant{
	Name:   "cancelled-only-when-asked",
	Says:   "A job becomes CANCELLED only once its cancellation has been asked for: a stream has stored a cancellation of the job, a client has written one into the job's record, or a worker has answered CANCELLED.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1: cancelled by user request",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		j := s.About
		if j.State != model.Cancelled || w.From == model.Cancelled {
			return
		}
		t.Exercise()
		if !j.Asked {
			t.Violation(j, "%s wrote CANCELLED at step %d, although nobody had asked for it", invariants.Who(s.Event), invariants.StepNo(s.Step))
		}
	}}
})

var toldWorkerStops = rule.New(invariants.Invariant{
	Name:   "told-worker-stops",
	Says:   "A worker that has been told that its job is cancelled begins no further execution of the job. It ends the execution under way at once, without its effect. The time for which the worker is paused or cut off from a server does not count.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1: cancelled by user request; the word to the worker is what keeps the effect from being had",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	const atOnce = time.Second // an effect that already waits at its gate cannot be stopped
	return observe.Checker{Effect: func(s *model.Step) {
		j, me := s.About, invariants.Process(s.Node, s.Incarnation)
		for _, h := range j.Heard {
			if h.Process != me || slices.ContainsFunc(j.Dispatches, func(d model.Dispatch) bool { return d.Worker == s.Node && d.Epoch > h.Epoch }) {
				continue
			}
			if away := f.Node(s.Node).Away(s.At) - h.Away; s.At > h.At+atOnce+away {
				t.Violation(j, "%s had been told at step %d that it is cancelled, and its execution goes on at step %d: %s", me, invariants.StepNo(h.Step), invariants.StepNo(s.Step), s.Name)
			}
		}
	}, Ended: func(*invariants.End) {
		for _, j := range f.Order {
			for range j.Heard {
				t.Exercise()
			}
		}
	}}
})

// cancellationWait is the longest time for which a cancellation may wait before it takes effect. It may be
// kept away by the plan's faults, find the job's lock taken and be put off. Its handling takes a read, a
// void, a write, and locking and unlocking.
func cancellationWait(c *config.Config) time.Duration {
	putOff := c.RetryDelayBusy
	if c.BusyBackoff {
		putOff = max(putOff, c.BackoffMax)
	}
	return c.Outages + c.JobLockTTL + putOff + c.PublishTimeout + 4*c.StoreOpTimeout
}

// unheeded says whether the stream holds, or held until it was acknowledged, a cancellation of the job from
// before its end (asked), and whether one of them is from before then (late). A cancellation that was
// delivered and not answered counts as later, by again for each such delivery.
func unheeded(j *model.Job, then, again time.Duration) (asked, late bool) {
	for i := range j.Messages {
		m := &j.Messages[i]
		there := m.Asked != 0 && !m.Lost
		asked, late = asked || there, late || there && m.Asked+time.Duration(m.Unanswered())*again < then
	}
	return asked, late
}

// cancellation says whether so holds for one of the job's cancellations.
func cancellation(j *model.Job, so func(*model.Message) bool) bool {
	return slices.ContainsFunc(j.Messages, func(m model.Message) bool { return m.Consumer == history.ConsumerCancel && so(&m) })
}
