package invariants

import "fmt"

var oneDispatchPerJob = checking(Invariant{
	Name:   "one-dispatch-per-job",
	Says:   "The stream stores at most one dispatch of a job; with epochs, of each of its epochs.",
	Kind:   Always,
	Source: "Dispatch ordering, the redelivery gate and the dispatch ordering; State-read errors",
}, func(f *facts, t *tally) checker {
	return checker{stored: func(s *step, d *dispatch) {
		if f.cfg.Epochs && d.worker == "" {
			return // a topic's subject names no job, so that nothing can be compared with it
		}
		t.exercise()
		var first *dispatch
		n := 1
		for i := range s.job.dispatches {
			if other := &s.job.dispatches[i]; other.epoch == d.epoch {
				if n++; first == nil {
					first = other
				}
			}
		}
		if first != nil {
			t.violated(s.job, "%s dispatch%s stored, %s seq %d on %s at step %d; the first was seq %d on %s at step %d",
				ordinal(n), d.ofEpoch(), streamJobs, d.seq, d.subject, d.step, first.seq, first.subject, first.step)
		}
	}, audited: func(*End) { auditDuplicates(f, t) }}
})

// ofEpoch names the dispatch's epoch, if it has one.
func (d *dispatch) ofEpoch() string {
	if d.epoch == 0 {
		return ""
	}
	return fmt.Sprintf(" of epoch %d", d.epoch)
}

var intentBeforeDispatch = checking(Invariant{
	Name:   "intent-before-dispatch",
	Says:   "In state-first and outbox order, a dispatch is stored only while the job is DISPATCHED to the worker that it goes to, and with an outbox only from there.",
	Kind:   Always,
	Source: "Dispatch ordering, dispatch ordering: the transition to DISPATCHED happens before the publish",
}, func(f *facts, t *tally) checker {
	if f.cfg.DispatchOrder == "publish-first" {
		return checker{} // the other order: the intent follows
	}
	return checker{stored: func(s *step, d *dispatch) {
		t.exercise()
		j := s.job
		switch {
		case j.intent.step == 0:
			t.violated(j, "dispatch stored, %s seq %d on %s at step %d, while the record said %s (since step %d)",
				streamJobs, d.seq, d.subject, d.step, j.state, j.stateAt)
		case d.worker != "" && d.worker != j.intent.worker:
			t.violated(j, "dispatch to %s stored, %s seq %d at step %d, but the DISPATCHED write at step %d named %q",
				d.worker, streamJobs, d.seq, d.step, j.intent.step, j.intent.worker)
		case f.cfg.DispatchOrder == "outbox" && j.queued.step == 0:
			t.violated(j, "dispatch stored, %s seq %d on %s at step %d, which the outbox does not hold",
				streamJobs, d.seq, d.subject, d.step)
		}
	}}
})

var noDispatchAfterFailedRead = checking(Invariant{
	Name:   "no-dispatch-after-failed-read",
	Says:   "A handling whose state read failed publishes no dispatch.",
	Kind:   Always,
	Source: "State-read errors, the fail-closed branch",
}, func(_ *facts, t *tally) checker {
	return checker{
		read: func(s *step) {
			if s.failed && s.h != nil {
				t.exercise()
			}
		},
		sent: func(s *step) {
			if s.h != nil && s.h.readFailed != 0 {
				t.violated(s.job, "%s published to %s at step %d although its state read at step %d had failed",
					Who(s.Event), s.Target, s.Step, s.h.readFailed)
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
