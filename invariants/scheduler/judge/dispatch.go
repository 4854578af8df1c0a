package judge

import (
	"fmt"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var oneDispatchPerJob = rule.New(invariants.Invariant{
	Name:   "one-dispatch-per-job",
	Says:   "The stream stores at most one dispatch of a job. With epochs, it stores at most one dispatch of each epoch. A dispatch to a topic has no epoch.",
	Kind:   invariants.Always,
	Source: "Dispatch ordering, the redelivery gate and the dispatch ordering; State-read errors",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Stored: func(s *model.Step, d *model.Dispatch) {
		if f.Config.Epochs && d.Worker == "" {
			return // the subject of a topic names no job, so there is nothing to compare
		}
		t.Exercise()
		var first *model.Dispatch
		n := 1
		for i := range s.About.Dispatches {
			if other := &s.About.Dispatches[i]; other.Epoch == d.Epoch {
				if n++; first == nil {
					first = other
				}
			}
		}
		if first != nil {
			t.Violation(s.About, "%s dispatch%s stored, %s seq %d on %s at step %d; the first was seq %d on %s at step %d",
				invariants.Ordinal(n), ofEpoch(d), history.StreamJobs, d.Seq, d.Subject, invariants.StepNo(d.Step), first.Seq, first.Subject, invariants.StepNo(first.Step))
		}
	}, Audited: func(*invariants.End) { auditDuplicates(f, t) }}
})

// ofEpoch names the dispatch's epoch, if it has one.
func ofEpoch(d *model.Dispatch) string {
	if d.Epoch == 0 {
		return ""
	}
	return fmt.Sprintf(" of epoch %d", d.Epoch)
}

var intentBeforeDispatch = rule.New(invariants.Invariant{
	Name:   "intent-before-dispatch",
	Says:   "In state-first and outbox order, the stream stores a dispatch only while its job is DISPATCHED to the dispatch's worker. In outbox order, a dispatch is published only from the outbox.",
	Kind:   invariants.Always,
	Source: "Dispatch ordering, dispatch ordering: the transition to DISPATCHED happens before the publish",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if f.Config.DispatchOrder == "publish-first" {
		return observe.Checker{} // the other order: the intent follows
	}
	return observe.Checker{Stored: func(s *model.Step, d *model.Dispatch) {
		t.Exercise()
		j := s.About
		switch {
		case j.Intent.Step == 0:
			t.Violation(j, "dispatch stored, %s seq %d on %s at step %d, while %s (since step %d)",
				history.StreamJobs, d.Seq, d.Subject, invariants.StepNo(d.Step), j.State.Record(), invariants.StepNo(j.StateAt))
		case d.Worker != "" && d.Worker != j.Intent.Worker:
			t.Violation(j, "dispatch to %s stored, %s seq %d at step %d, but the DISPATCHED write at step %d named %q",
				d.Worker, history.StreamJobs, d.Seq, invariants.StepNo(d.Step), invariants.StepNo(j.Intent.Step), j.Intent.Worker)
		case f.Config.DispatchOrder == "outbox" && j.Queued.Step == 0:
			t.Violation(j, "dispatch stored, %s seq %d on %s at step %d, which the outbox does not hold",
				history.StreamJobs, d.Seq, d.Subject, invariants.StepNo(d.Step))
		}
	}}
})

var noDispatchAfterFailedRead = rule.New(invariants.Invariant{
	Name:   "no-dispatch-after-failed-read",
	Says:   "A handling does not publish a dispatch if its state read failed.",
	Kind:   invariants.Always,
	Source: "State-read errors, the fail-closed branch",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{
		Read: func(s *model.Step) {
			if s.Failed && s.Handling != nil {
				t.Exercise()
			}
		},
		Sent: func(s *model.Step) {
			if s.Handling != nil && s.Handling.ReadFailed != 0 && !s.About.Mixed {
				t.Violation(s.About, "%s published to %s at step %d although its state read at step %d had failed",
					invariants.Who(s.Event), s.Target, invariants.StepNo(s.Step), invariants.StepNo(s.Handling.ReadFailed))
			}
		},
	}
})

// auditDuplicates finds second dispatches.
func auditDuplicates(f *model.Facts, t *rule.Tally) {
	for _, j := range f.Order {
		first := map[int64]*model.Dispatch{}
		for i := range j.Dispatches {
			d := &j.Dispatches[i]
			if f.Config.Epochs && d.Worker == "" {
				continue
			}
			t.Exercise()
			if before := first[d.Epoch]; before != nil {
				t.Violation(j, "another dispatch%s stored, %s seq %d on %s; the first was seq %d on %s",
					ofEpoch(d), history.StreamJobs, d.Seq, d.Subject, before.Seq, before.Subject)
				continue
			}
			first[d.Epoch] = d
		}
	}
}
