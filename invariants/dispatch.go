package invariants

import "fmt"

var oneDispatchPerJob = Invariant{
	Name:     "one-dispatch-per-job",
	Says:     "A stream stores at most one dispatch of a job.",
	Kind:     Always,
	Source:   "seed 000, the redelivery gate and the dispatch ordering; seed 001",
	releases: ambiguousPublish | outboxKept | lockOverstayed,
	check: func(_ *facts, t *tally) checker {
		return checker{stored: func(s *step, d *dispatch) {
			t.exercise()
			if n := len(s.job.dispatches); n > 0 {
				first := s.job.dispatches[0]
				t.violated(s.job, "%s dispatch stored, %s seq %d on %s at step %d; the first was seq %d on %s at step %d",
					ordinal(n+1), streamJobs, d.seq, d.subject, d.step, first.seq, first.subject, first.step)
			}
		}}
	},
}

var intentBeforeDispatch = Invariant{
	Name:     "intent-before-dispatch",
	Says:     "In state-first and outbox order, a dispatch is stored only while the job is DISPATCHED to the worker that it goes to, and with an outbox only from there.",
	Kind:     Always,
	Source:   "seed 000, dispatch ordering: the transition to DISPATCHED happens before the publish",
	releases: lockOverstayed,
	check: func(f *facts, t *tally) checker {
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
	},
}

var noDispatchAfterFailedRead = Invariant{
	Name:   "no-dispatch-after-failed-read",
	Says:   "A handling whose state read failed publishes no dispatch.",
	Kind:   Always,
	Source: "seed 001, the fail-closed branch",
	check: func(_ *facts, t *tally) checker {
		return checker{
			read: func(s *step) {
				if s.failed && s.h != nil {
					t.exercise()
				}
			},
			sent: func(s *step) {
				if s.h != nil && s.h.readFailed != 0 {
					t.violated(s.job, "%s published to %s at step %d although its state read at step %d had failed",
						who(s.Event), s.Target, s.Step, s.h.readFailed)
				}
			},
		}
	},
}

var noDispatchToExpiredWorker = Invariant{
	Name:   "no-dispatch-to-expired-worker",
	Says:   "No dispatch is published to a worker whose last heartbeat, at the time of the pick, had reached that replica longer than the worker TTL ago.",
	Kind:   Always,
	Source: "seed 002, the stale detection rule",
	check: func(f *facts, t *tally) checker {
		return checker{sent: func(s *step) {
			worker := workerOf(s.Target)
			if worker == "" || len(f.heard) == 0 {
				return // a topic bypasses the check
			}
			t.exercise()
			picker, picked := hearing{s.Node, s.Incarnation, worker}, s.At
			if i := &s.job.intent; s.job.queued.step != 0 && i.step != 0 { // who publishes it need not have picked it
				picker, picked = hearing{i.node, i.incarnation, worker}, i.pickedAt
			} else if s.h != nil && s.h.scheduled {
				picked = s.h.scheduledAt
			}
			last, ok := f.heard[picker]
			switch {
			case !ok:
				t.violated(s.job, "%s published to %s at step %d, which %s had picked without ever having heard of %s",
					who(s.Event), s.Target, s.Step, process(picker.scheduler, picker.incarnation), worker)
			case picked-last > f.cfg.WorkerTTL:
				t.violated(s.job, "%s published to %s at step %d, which %s had picked %s after the last heartbeat that it received of it; the worker TTL is %s",
					who(s.Event), s.Target, s.Step, process(picker.scheduler, picker.incarnation), picked-last, f.cfg.WorkerTTL)
			}
		}}
	},
}

func ordinal(n int) string {
	switch n {
	case 2:
		return "second"
	case 3:
		return "third"
	}
	return fmt.Sprintf("%dth", n)
}
