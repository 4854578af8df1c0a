package invariants

import (
	"fmt"
	"time"
)

// early says in words why a job that was written to TIMEOUT was not due to be, or "" if it was. It
// goes by the record's own times, those of the write before and of this one, and by what the replica had heard
// of the job's worker; and since those times are of schedulers' clocks, by the world's time too, but for the time
// that a write is under way under its lock.
func (f *facts) early(s *step, w *write) string {
	j := s.job
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
		if f.cfg.WatchWorkers && f.silent(s)+slack >= f.cfg.dispatchTimeout(j.topic) {
			limit = min(limit, f.cfg.dispatchTimeout(j.topic))
		}
	default:
		return fmt.Sprintf("it was %s, for which there is no timeout, and past no deadline", w.from)
	}
	if slowest := f.at - w.since + f.cfg.JobLockTTL; age < limit || slowest < limit {
		age = min(age, slowest)
		return fmt.Sprintf("it was %s for %s, and the timeout is %s", w.from, age, limit)
	}
	return ""
}

// silent is for how long the step's replica had not heard of the job's worker when it read the job, or has
// not by now.
func (f *facts) silent(s *step) time.Duration {
	silent := f.silence(s.Event, s.job.worker)
	if s.h != nil {
		silent = max(silent, s.h.silent)
	}
	return silent
}

// pastDeadline says whether the job was written last after its deadline.
func (j *job) pastDeadline() bool { return j.deadline != 0 && j.updated >= j.deadline }

var timeoutOnlyWhenDue = checking(Invariant{
	Name:   "timeout-only-when-due",
	Says:   "The reconciler times out only a job that has been DISPATCHED or RUNNING for its timeout, or is past its deadline; with watch_workers, also one that has been RUNNING for the dispatch timeout on a worker of which it has not heard for as long, though it has of others.",
	Kind:   Always,
	Source: "Scheduler internals, section 3, timeout detection and deadline expiration",
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		if s.job.state != timedOut || s.Phase == "result_write" {
			return
		}
		t.exercise()
		if why := f.early(s, w); why != "" {
			t.violated(s.job, "%s wrote TIMEOUT at step %d too early: %s", Who(s.Event), s.Step, why)
		}
	}}
})

var noTimeoutWhileExecuting = checking(Invariant{
	Name:   "no-timeout-while-executing",
	Says:   "No job is timed out as DISPATCHED that a worker is executing.",
	Kind:   Always,
	Source: "Dispatch ordering, residual risk window; Scheduler internals, section 3: a RUNNING write that failed is no reason to time out",
}, func(_ *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		j := s.job
		if j.state != timedOut || w.from != dispatched || s.Phase == "result_write" || j.pastDeadline() {
			return
		}
		t.exercise()
		if len(j.executing) > 0 {
			t.violated(j, "%s timed it out at step %d as DISPATCHED while %s was executing it", Who(s.Event), s.Step, j.executing[0])
		}
	}}
})

// ticksLate is how many polls a timeout may come late, since a tick finds its lock or the job's held, fails, or
// has more to do than it may.
const ticksLate = 5

var deadWorkerIsNoticed = checking(Invariant{
	Name:     "dead-worker-is-noticed",
	OnDemand: true,
	Says:     "No job stays RUNNING for five polls longer than the dispatch timeout on a worker of which the replica that then times it out has heard nothing all the while, though it has of others.",
	Kind:     Always,
	Source:   "Stale workers, the worker TTL window: a dead worker inside its TTL receives the publish; Scheduler internals, section 3, timeout detection",
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		j := s.job
		if j.state != timedOut || w.from != running || s.Phase == "result_write" {
			return
		}
		age := min(time.Duration(j.updated-w.updated)*time.Millisecond, f.silence(s.Event, j.worker))
		limit := f.cfg.dispatchTimeout(j.topic)
		if age < limit {
			return
		}
		t.exercise()
		if age >= limit+ticksLate*f.cfg.PollInterval {
			t.violated(j, "%s timed it out at step %d after %s of RUNNING on %s without a word of that; the dispatch timeout is %s", Who(s.Event), s.Step, age.Round(time.Millisecond), j.worker, limit)
		}
	}}
})
