package judge

import (
	"fmt"
	"slices"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"
)

var resultOfCurrentEpoch = checking(invariants.Invariant{
	Name:   "result-of-current-epoch",
	Says:   "With epochs, a job ends by a result of its record's epoch only.",
	Kind:   invariants.Always,
	Source: "the hardened dispatch: a result of an older epoch is not accepted",
}, func(f *facts, t *tally) checker {
	audited := func(end *invariants.End) {
		withRecord(f, func(j *job) {
			if j.state != succeeded || j.epoch == 0 || end.Streams == nil {
				return
			}
			t.exercise()
			if !reportedSuccess(j, j.epoch) {
				t.violated(j, "is SUCCEEDED, but %s holds no result of epoch %d that says so", history.StreamSys, j.epoch)
			}
		})
	}
	return checker{audited: audited, wrote: func(s *step, w *write) {
		j := s.about
		if s.Phase != "result_write" || w.epoch == 0 {
			return
		}
		me, newest, held := invariants.Process(s.Node, s.Incarnation), int64(-1), false
		for i := range j.messages {
			if m := &j.messages[i]; m.consumer == history.ConsumerResult && m.holder == me {
				held, newest = true, max(newest, m.epoch)
			}
		}
		if !held {
			return // a write from the past: the result has gone elsewhere since
		}
		t.exercise()
		if newest < w.epoch {
			t.violated(j, "%s wrote %s at step %d by a result of epoch %d; the record's is %d", invariants.Who(s.Event), j.state, s.Step, newest, w.epoch)
		}
	}}
})

var cancelledJobIsTold = checking(invariants.Invariant{
	Name:   "cancelled-job-is-told",
	Says:   "The worker of a job that is cancelled after it was dispatched is told so.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 1: cancelled by user request; a worker that does not hear of it executes the job to its end",
}, func(f *facts, t *tally) checker {
	judge := func(j *job) {
		if j.cancelled == "" {
			return
		}
		t.exercise()
		if !slices.ContainsFunc(j.told, func(n notice) bool { return n.worker == j.cancelled }) {
			when := ""
			if j.cancelStep != 0 {
				when = fmt.Sprintf(" at step %d", j.cancelStep)
			}
			t.violated(j, "was cancelled%s, but %s, which had it, was never told", when, j.cancelled)
		}
	}
	return checker{
		wrote: func(s *step, w *write) {
			if worker := dispatchedTo(s.about); s.about.state == cancelled && s.Phase == "cancel_write" && worker != "" {
				s.about.cancelled, s.about.cancelStep = worker, s.Step
			}
		},
		ended: func(*invariants.End) {
			for _, j := range f.order {
				judge(j)
			}
		},
		audited: func(end *invariants.End) {
			withRecord(f, func(j *job) {
				if j.state == cancelled && end.Redis[history.RecordPrefix+j.id]["reason_code"] == history.ReasonCancelled && j.holds(j.epoch) {
					j.cancelled = j.worker
				}
				judge(j)
			})
		},
	}
})

var illegalResultIsRefused = checking(invariants.Invariant{
	Name:   "illegal-result-is-refused",
	Says:   "A result whose status is none is refused when it comes, once, and has an entry of its own in the DLQ.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 9, DLQ-first termination: a message that can never be handled is terminated, and not retried",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *facts, t *tally) checker {
	return checker{ended: func(*invariants.End) {
		for _, j := range f.order {
			for i := range j.messages {
				m := &j.messages[i]
				if !m.garbled || m.consumer != history.ConsumerResult || m.delivered == 0 {
					continue
				}
				t.exercise()
				at := place(m.seq)
				switch {
				case !slices.ContainsFunc(j.terminated, func(e termination) bool { return e.place == at }):
					t.violated(j, "its result at %s, which has no legal status, was delivered %s, and never refused", at, invariants.CountOf(int(m.delivered), "time", "times"))
				case m.delivered > 1:
					t.violated(j, "its result at %s, which has no legal status, was refused at delivery %d only", at, m.delivered)
				case !f.filed[at]:
					t.violated(j, "its result at %s, which has no legal status, was refused, but %s%s was never written", at, history.DlqPrefix, at)
				}
			}
		}
	}}
})

// dispatchedTo is the worker that the last dispatch is for which a stream stored, whatever the record says of it;
// "" if there is none, or it is for a topic.
func dispatchedTo(j *job) string {
	if n := len(j.dispatches); n > 0 {
		return j.dispatches[n-1].worker
	}
	return ""
}
