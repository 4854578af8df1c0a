package invariants

import (
	"fmt"
	"time"
)

// early says in words why a job that was written to TIMEOUT was not due to be, or "" if it was. It
// goes by the record's own times, those of the write before and of this one; and since those are of
// schedulers' clocks, by the world's time too, but for the time that a write is under way under its lock.
func (f *facts) early(j *job, w *write) string {
	if j.pastDeadline() {
		return ""
	}
	age := time.Duration(j.updated-w.updated) * time.Millisecond
	limit := time.Duration(0)
	switch w.from {
	case dispatched:
		limit = f.cfg.dispatchTimeout(j.topic)
	case running:
		limit = f.cfg.RunningTimeout
	default:
		return fmt.Sprintf("it was %s, for which there is no timeout, and past no deadline", w.from)
	}
	if slowest := f.at - w.since + f.cfg.JobLockTTL; age < limit || slowest < limit {
		age = min(age, slowest)
		return fmt.Sprintf("it was %s for %s, and the timeout is %s", w.from, age, limit)
	}
	return ""
}

// pastDeadline says whether the job was written last after its deadline.
func (j *job) pastDeadline() bool { return j.deadline != 0 && j.updated >= j.deadline }

var timeoutOnlyWhenDue = Invariant{
	Name:     "timeout-only-when-due",
	timed:    true,
	Says:     "The reconciler times out only a job that has been DISPATCHED or RUNNING for its timeout, or is past its deadline.",
	Kind:     Always,
	Source:   "seed 003, section 3, timeout detection and deadline expiration",
	releases: lockOverstayed | lateWrite | unprovided,
	covered:  []cover{covers(unprovided, withRecheck), covers(lockOverstayed|lateWrite, withFence)},
	check: func(f *facts, t *tally) checker {
		return checker{wrote: func(s *step, w *write) {
			if s.job.state != timedOut || s.Phase == "result_write" {
				return
			}
			t.exercise()
			if why := f.early(s.job, w); why != "" {
				t.violated(s.job, "%s wrote TIMEOUT at step %d too early: %s", who(s.Event), s.Step, why)
			}
		}}
	},
}

var noTimeoutWhileExecuting = Invariant{
	Name:     "no-timeout-while-executing",
	timed:    true,
	Says:     "No job is timed out as DISPATCHED that a worker is executing.",
	Kind:     Always,
	Source:   "seed 000, residual risk window; seed 003, section 3: a RUNNING write that failed is no reason to time out",
	releases: failedWrite | lockOverstayed | lateWrite | oldList | ambiguousPublish | latePublish | schedulerCrash | paused,
	covered: []cover{
		covers(oldList, withRecheck),
		covers(failedWrite|lockOverstayed|lateWrite|ambiguousPublish|latePublish|schedulerCrash|paused, withVoid, withEpochs, withResume, withFence, withIntentFirst),
	},
	check: func(_ *facts, t *tally) checker {
		return checker{wrote: func(s *step, w *write) {
			j := s.job
			if j.state != timedOut || w.from != dispatched || s.Phase == "result_write" || j.pastDeadline() {
				return
			}
			t.exercise()
			if len(j.executing) > 0 {
				t.violated(j, "%s timed it out at step %d as DISPATCHED while %s was executing it", who(s.Event), s.Step, j.executing[0])
			}
		}}
	},
}
