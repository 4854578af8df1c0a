package invariants

import (
	"encoding/json"
	"fmt"
	"slices"
)

var resultOfCurrentEpoch = checking(Invariant{
	Name:   "result-of-current-epoch",
	Says:   "With epochs, a job ends by a result of its record's epoch only.",
	Kind:   Always,
	Source: "the hardened dispatch: a result of an older epoch is not accepted",
}, func(f *facts, t *tally) checker {
	audited := func(end *End) {
		f.audited(func(j *job) {
			if j.state != succeeded || j.epoch == 0 || end.Streams == nil {
				return
			}
			t.exercise()
			if !j.succeededAt(j.epoch) {
				t.violated(j, "is SUCCEEDED, but %s holds no result of epoch %d that says so", streamSys, j.epoch)
			}
		})
	}
	return checker{audited: audited, wrote: func(s *step, w *write) {
		j := s.job
		if s.Phase != "result_write" || w.epoch == 0 {
			return
		}
		me, newest, held := Process(s.Node, s.Incarnation), int64(-1), false
		for i := range j.messages {
			if m := &j.messages[i]; m.consumer == consumerResult && m.holder == me {
				held, newest = true, max(newest, m.epoch)
			}
		}
		if !held {
			return // a write from the past: the result has gone elsewhere since
		}
		t.exercise()
		if newest < w.epoch {
			t.violated(j, "%s wrote %s at step %d by a result of epoch %d; the record's is %d", Who(s.Event), j.state, s.Step, newest, w.epoch)
		}
	}}
})

var cancelledJobIsTold = checking(Invariant{
	Name:   "cancelled-job-is-told",
	Says:   "The worker of a job that is cancelled after it was dispatched is told so.",
	Kind:   Eventually,
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
			if worker := s.job.dispatchedTo(); s.job.state == cancelled && s.Phase == "cancel_write" && worker != "" {
				s.job.cancelled, s.job.cancelStep = worker, s.Step
			}
		},
		ended: func(*End) {
			for _, j := range f.order {
				judge(j)
			}
		},
		audited: func(end *End) {
			f.audited(func(j *job) {
				if j.state == cancelled && end.Redis[recordPrefix+j.id]["reason_code"] == reasonCancelled && j.holds(j.epoch) {
					j.cancelled = j.worker
				}
				judge(j)
			})
		},
	}
})

var illegalResultIsRefused = checking(Invariant{
	Name:   "illegal-result-is-refused",
	Says:   "A result whose status is none is refused when it comes, once, and has an entry of its own in the DLQ.",
	Kind:   Eventually,
	Source: "Scheduler internals, section 9, DLQ-first termination: a message that can never be handled is terminated, and not retried",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *facts, t *tally) checker {
	return checker{ended: func(*End) {
		for _, j := range f.order {
			for i := range j.messages {
				m := &j.messages[i]
				if !m.garbled || m.consumer != consumerResult || m.delivered == 0 {
					continue
				}
				t.exercise()
				at := place(m.seq)
				switch {
				case !slices.ContainsFunc(j.terminated, func(e termination) bool { return e.place == at }):
					t.violated(j, "its result at %s, which has no legal status, was delivered %s, and never refused", at, CountOf(int(m.delivered), "time", "times"))
				case m.delivered > 1:
					t.violated(j, "its result at %s, which has no legal status, was refused at delivery %d only", at, m.delivered)
				case !f.filed[at]:
					t.violated(j, "its result at %s, which has no legal status, was refused, but %s%s was never written", at, dlqPrefix, at)
				}
			}
		}
	}}
})

// illegal says whether the status of a result is none of those that a worker may answer.
func illegal(result string) bool {
	var r struct {
		Status string `json:"status"`
	}
	return json.Unmarshal([]byte(result), &r) == nil && !slices.Contains([]string{"SUCCEEDED", "FAILED", statusFatal, "CANCELLED", "TIMEOUT"}, r.Status)
}

// dispatchedTo is the worker that the last dispatch is for which a stream stored, whatever the record says of it;
// "" if there is none, or it is for a topic.
func (j *job) dispatchedTo() string {
	if n := len(j.dispatches); n > 0 {
		return j.dispatches[n-1].worker
	}
	return ""
}
