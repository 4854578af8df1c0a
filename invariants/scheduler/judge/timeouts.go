package judge

import (
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
)

// early says in words why a job that was written to TIMEOUT was not due to be, or "" if it was. It
// goes by the record's own times, those of the write before and of this one, and by what the replica had heard
// of the job's worker; and since those times are of schedulers' clocks, by the world's time too, but for the time
// that a write is under way under its lock.
func early(f *facts, s *step, w *write) string {
	j := s.about
	if pastDeadline(j) {
		return ""
	}
	age := time.Duration(j.updated-w.updated) * time.Millisecond
	limit := time.Duration(0)
	switch w.from {
	case dispatched:
		limit = f.config.TimeoutOf(j.topic)
	case running:
		limit = f.config.RunningTimeout
		if f.config.WatchWorkers && silentFor(f, s)+slack >= f.config.TimeoutOf(j.topic) {
			limit = min(limit, f.config.TimeoutOf(j.topic))
		}
	default:
		return fmt.Sprintf("it was %s, for which there is no timeout, and past no deadline", w.from)
	}
	if slowest := f.at - w.since + f.config.JobLockTTL; age < limit || slowest < limit {
		age = min(age, slowest)
		return fmt.Sprintf("it was %s for %s, and the timeout is %s", w.from, age, limit)
	}
	return ""
}

// silent is for how long the step's replica had not heard of the job's worker when it read the job, or has
// not by now.
func silentFor(f *facts, s *step) time.Duration {
	silent := f.silence(s.Event, s.about.worker)
	if s.handling != nil {
		silent = max(silent, s.handling.silent)
	}
	return silent
}

// pastDeadline says whether the job was written last after its deadline.
func pastDeadline(j *job) bool { return j.deadline != 0 && j.updated >= j.deadline }

var timeoutOnlyWhenDue = checking(invariants.Invariant{
	Name:   "timeout-only-when-due",
	Says:   "The reconciler times out only a job that has been DISPATCHED or RUNNING for its timeout, or is past its deadline; with watch_workers, also one that has been RUNNING for the dispatch timeout on a worker of which it has not heard for as long, though it has of others.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 3, timeout detection and deadline expiration",
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		if s.about.state != timedOut || s.Phase == "result_write" {
			return
		}
		t.exercise()
		if why := early(f, s, w); why != "" {
			t.violated(s.about, "%s wrote TIMEOUT at step %d too early: %s", invariants.Who(s.Event), s.Step, why)
		}
	}}
})

var noTimeoutWhileExecuting = checking(invariants.Invariant{
	Name:   "no-timeout-while-executing",
	Says:   "No job is timed out as DISPATCHED that a worker is executing.",
	Kind:   invariants.Always,
	Source: "Dispatch ordering, residual risk window; Scheduler internals, section 3: a RUNNING write that failed is no reason to time out",
}, func(_ *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		j := s.about
		if j.state != timedOut || w.from != dispatched || s.Phase == "result_write" || pastDeadline(j) {
			return
		}
		t.exercise()
		if len(j.executing) > 0 {
			t.violated(j, "%s timed it out at step %d as DISPATCHED while %s was executing it", invariants.Who(s.Event), s.Step, j.executing[0])
		}
	}}
})

// ticksLate is how many polls a timeout may come late, since a tick finds its lock or the job's held, fails, or
// has more to do than it may.
const ticksLate = 5

var deadWorkerIsNoticed = checking(invariants.Invariant{
	Name:     "dead-worker-is-noticed",
	OnDemand: true,
	Says:     "No job stays RUNNING for five polls longer than the dispatch timeout on a worker of which the replica that then times it out has heard nothing all the while, though it has of others.",
	Kind:     invariants.Always,
	Source:   "Stale workers, the worker TTL window: a dead worker inside its TTL receives the publish; Scheduler internals, section 3, timeout detection",
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		j := s.about
		if j.state != timedOut || w.from != running || s.Phase == "result_write" {
			return
		}
		age := min(time.Duration(j.updated-w.updated)*time.Millisecond, f.silence(s.Event, j.worker))
		limit := f.config.TimeoutOf(j.topic)
		if age < limit {
			return
		}
		t.exercise()
		if age >= limit+ticksLate*f.config.PollInterval {
			t.violated(j, "%s timed it out at step %d after %s of RUNNING on %s without a word of that; the dispatch timeout is %s", invariants.Who(s.Event), s.Step, age.Round(time.Millisecond), j.worker, limit)
		}
	}}
})
