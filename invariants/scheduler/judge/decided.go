package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var dispatchIsWhatWasDecided = rule.New(invariants.Invariant{
	Name:   "dispatch-is-what-was-decided",
	Says:   "A dispatch can be read, and names its job and its worker. It has the topic, the tenant, the payload, the idempotency key, the labels and the environment of a request: the one in the record when the safety kernel's last decision was written. If no kernel decides, it has those of any request of the job. The labels may include the kernel's constraints. The dispatch has the number of the attempt that its handling has counted.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, safety check and dispatch; that what was allowed is what runs is the testbed's own wording",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{
		Stored: func(s *model.Step, d *model.Dispatch) {
			j, at := s.About, invariants.StepNo(s.Step)
			asked := requestsOf(j)
			if len(asked) == 0 {
				return
			}
			t.Exercise()
			switch o := d.Order; {
			case o == nil:
				t.Violation(j, "nobody can read the dispatch stored at step %d, %s seq %d", at, history.StreamJobs, d.Seq)
			case o.WorkerID != d.Worker:
				t.Violation(j, "the dispatch stored at step %d, %s seq %d, is for %q, and names %q", at, history.StreamJobs, d.Seq, d.Worker, o.WorkerID)
			case o.JobID != j.ID:
				t.Violation(j, "the dispatch stored at step %d, %s seq %d, names the job %q", at, history.StreamJobs, d.Seq, o.JobID)
			case s.Handling != nil && s.Handling.Attempt != 0 && !j.HandlesTwice(s.Event) && o.Attempt != s.Handling.Attempt:
				t.Violation(j, "the dispatch stored at step %d, %s seq %d, is of attempt %d, and its handling has counted attempt %d", at, history.StreamJobs, d.Seq, o.Attempt, s.Handling.Attempt)
			default:
				if other := unlike(j, asked, &o.Request); other != "" && j.Decision != "" {
					t.Violation(j, "what was dispatched at step %d, %s seq %d, is not the request that was decided upon: they differ in the %s", at, history.StreamJobs, d.Seq, other)
				} else if other != "" {
					t.Violation(j, "what was dispatched at step %d, %s seq %d, is no request of the job: it differs in the %s", at, history.StreamJobs, d.Seq, other)
				}
			}
		},
	}
})

// requestsOf lists the requests that a dispatch of the job may carry out: the one that the safety kernel has
// decided on or, if no kernel decides, any.
func requestsOf(j *model.Job) (list []*history.Request) {
	last := j.Decided
	if j.Decision == "" {
		list, last = j.Earlier, j.Request
	}
	if last != nil {
		list = append(list[:len(list):len(list)], last)
	}
	return list
}

// unlike names a field in which a dispatch differs from the last of the requests, if it differs from all of
// them; otherwise it is "".
func unlike(j *model.Job, asked []*history.Request, dispatched *history.Request) (other string) {
	for _, r := range asked {
		if other = r.Unlike(dispatched); other == "labels" {
			other = r.Constrained(j.Wish.Constraints).Unlike(dispatched)
		}
		if other == "" {
			return ""
		}
	}
	return other
}
