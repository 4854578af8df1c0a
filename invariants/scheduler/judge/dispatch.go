package judge

import (
	"fmt"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"
)

var oneDispatchPerJob = checking(invariants.Invariant{
	Name:   "one-dispatch-per-job",
	Says:   "The stream stores at most one dispatch of a job; with epochs, of each of its epochs.",
	Kind:   invariants.Always,
	Source: "Dispatch ordering, the redelivery gate and the dispatch ordering; State-read errors",
}, func(f *facts, t *tally) checker {
	return checker{stored: func(s *step, d *dispatch) {
		if f.config.Epochs && d.worker == "" {
			return // a topic's subject names no job, so that nothing can be compared with it
		}
		t.exercise()
		var first *dispatch
		n := 1
		for i := range s.about.dispatches {
			if other := &s.about.dispatches[i]; other.epoch == d.epoch {
				if n++; first == nil {
					first = other
				}
			}
		}
		if first != nil {
			t.violated(s.about, "%s dispatch%s stored, %s seq %d on %s at step %d; the first was seq %d on %s at step %d",
				ordinal(n), ofEpoch(d), history.StreamJobs, d.seq, d.subject, d.step, first.seq, first.subject, first.step)
		}
	}, audited: func(*invariants.End) { auditDuplicates(f, t) }}
})

// ofEpoch names the dispatch's epoch, if it has one.
func ofEpoch(d *dispatch) string {
	if d.epoch == 0 {
		return ""
	}
	return fmt.Sprintf(" of epoch %d", d.epoch)
}

var intentBeforeDispatch = checking(invariants.Invariant{
	Name:   "intent-before-dispatch",
	Says:   "In state-first and outbox order, a dispatch is stored only while the job is DISPATCHED to the worker that it goes to, and with an outbox only from there.",
	Kind:   invariants.Always,
	Source: "Dispatch ordering, dispatch ordering: the transition to DISPATCHED happens before the publish",
}, func(f *facts, t *tally) checker {
	if f.config.DispatchOrder == "publish-first" {
		return checker{} // the other order: the intent follows
	}
	return checker{stored: func(s *step, d *dispatch) {
		t.exercise()
		j := s.about
		switch {
		case j.intent.step == 0:
			t.violated(j, "dispatch stored, %s seq %d on %s at step %d, while the record said %s (since step %d)",
				history.StreamJobs, d.seq, d.subject, d.step, j.state, j.stateAt)
		case d.worker != "" && d.worker != j.intent.worker:
			t.violated(j, "dispatch to %s stored, %s seq %d at step %d, but the DISPATCHED write at step %d named %q",
				d.worker, history.StreamJobs, d.seq, d.step, j.intent.step, j.intent.worker)
		case f.config.DispatchOrder == "outbox" && j.queued.step == 0:
			t.violated(j, "dispatch stored, %s seq %d on %s at step %d, which the outbox does not hold",
				history.StreamJobs, d.seq, d.subject, d.step)
		}
	}}
})

var noDispatchAfterFailedRead = checking(invariants.Invariant{
	Name:   "no-dispatch-after-failed-read",
	Says:   "A handling whose state read failed publishes no dispatch.",
	Kind:   invariants.Always,
	Source: "State-read errors, the fail-closed branch",
}, func(_ *facts, t *tally) checker {
	return checker{
		read: func(s *step) {
			if s.failed && s.handling != nil {
				t.exercise()
			}
		},
		sent: func(s *step) {
			if s.handling != nil && s.handling.readFailed != 0 {
				t.violated(s.about, "%s published to %s at step %d although its state read at step %d had failed",
					invariants.Who(s.Event), s.Target, s.Step, s.handling.readFailed)
			}
		},
	}
})

func ordinal(n int) string {
	switch n {
	case 2:
		return "second"
	case 3:
		return "third"
	}
	return fmt.Sprintf("%dth", n)
}
