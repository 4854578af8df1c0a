package judge

import (
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

// early says why a job that was written to TIMEOUT was not due, or "" if it was. It uses the record's times
// of the last write and of this one, and what the replica had heard of the job's worker. The record's times
// are by schedulers' clocks. So it also uses the world's time, with a tolerance of the time that a write may
// be under way under its lock.
func early(f *model.Facts, s *model.Step, w *model.Write) string {
	j := s.About
	if pastDeadline(f, j) {
		return ""
	}
	age := time.Duration(j.Updated-w.Updated) * time.Millisecond
	limit := time.Duration(0)
	switch w.From {
	case model.Dispatched:
		limit = f.Config.TimeoutOf(j.Topic)
	case model.Running:
		limit = f.Config.RunningTimeout
		if f.Config.WatchWorkers && silentFor(f, s)+model.Slack >= f.Config.TimeoutOf(j.Topic) {
			limit = min(limit, f.Config.TimeoutOf(j.Topic))
		}
	default:
		return fmt.Sprintf("it was %s, for which there is no timeout, and past no deadline", w.From)
	}
	was := f.At - w.Since
	switch {
	case was < limit && (age < limit || was+f.Config.JobLockTTL < limit):
		return fmt.Sprintf("it was %s for %s, and the timeout is %s", w.From, was.Round(time.Millisecond), limit)
	case age < limit:
		return fmt.Sprintf("by the clocks of its writers it was %s for %s, and the timeout is %s", w.From, age, limit)
	}
	return ""
}

// silentFor is how long the step's replica had not heard of the job's worker when it read the job, or by now.
func silentFor(f *model.Facts, s *model.Step) time.Duration {
	silent := f.Silence(s.Event, s.About.Worker)
	if s.Handling != nil {
		silent = max(silent, s.Handling.Silent)
	}
	return silent
}

// pastDeadline says whether the job's last write came after its deadline, by the record's times and by the
// world's. The latter have a tolerance of the time that a write may be under way under its lock.
func pastDeadline(f *model.Facts, j *model.Job) bool {
	return j.Deadline != 0 && j.Updated >= j.Deadline && f.At+f.Config.JobLockTTL >= j.DeadlineAt
}

var deadlineCountsFromSubmission = rule.New(invariants.Invariant{
	Name:   "deadline-counts-from-submission",
	Says:   "If a job's request has a budget.deadline_ms, the job's deadline is that long after the write that makes its record, by the clock of that write. The deadline does not change. A job without a budget.deadline_ms has no deadline.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 3, deadline expiration: jobs with explicit deadlines (budget.deadline_ms)",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		j := s.About
		is, due := j.Deadline, w.Deadline
		if due == 0 && j.State == model.Pending && j.Request != nil && j.Request.DeadlineMS() > 0 && (w.From == model.Absent || is != 0) {
			due = j.Updated + j.Request.DeadlineMS()
		}
		if is == 0 && due == 0 {
			return
		}
		t.Exercise()
		if is != due {
			t.Violation(j, "%s wrote %s at step %d (%s) with deadline_at %s; by its request it is %s", invariants.Who(s.Event), j.State, invariants.StepNo(s.Step), s.Phase, orNone(is), orNone(due))
		}
	}}
})

// orNone is a time of a record in words.
func orNone(unix int64) string {
	if unix == 0 {
		return "none"
	}
	return fmt.Sprint(unix)
}

var timeoutOnlyWhenDue = rule.New(invariants.Invariant{
	Name:   "timeout-only-when-due",
	Says:   "A scheduler times out a job only if the job has been DISPATCHED or RUNNING for its timeout, or is past its deadline. With watch_workers there is one more case: the job has been RUNNING for the dispatch timeout, and the scheduler has not heard of the job's worker for as long, although it heard of others.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 3, timeout detection and deadline expiration",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		if s.About.State != model.TimedOut || s.Phase == "result_write" {
			return
		}
		t.Exercise()
		if why := early(f, s, w); why != "" {
			t.Violation(s.About, "%s wrote TIMEOUT at step %d too early: %s", invariants.Who(s.Event), invariants.StepNo(s.Step), why)
		}
	}}
})

var noTimeoutWhileExecuting = rule.New(invariants.Invariant{
	Name:   "no-timeout-while-executing",
	Says:   "A scheduler does not time out a job as DISPATCHED while a worker executes it.",
	Kind:   invariants.Always,
	Source: "Dispatch ordering, residual risk window; Scheduler internals, section 3: a RUNNING write that failed is no reason to time out",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		j := s.About
		if j.State != model.TimedOut || w.From != model.Dispatched || s.Phase == "result_write" || pastDeadline(f, j) {
			return
		}
		t.Exercise()
		if len(j.Executing) > 0 {
			t.Violation(j, "%s timed it out at step %d as DISPATCHED while %s was executing it; it was first begun at step %d", invariants.Who(s.Event), invariants.StepNo(s.Step), j.Executing[0], invariants.StepNo(j.BegunStep))
		}
	}}
})

// ticksLate is how many polls late a timeout may come: a tick may find its lock or the job's taken, fail, or
// have more to do than its limit.
const ticksLate = 5

var deadWorkerIsNoticed = rule.New(invariants.Invariant{
	Name:     "dead-worker-is-noticed",
	OnDemand: true,
	Says:     "A job does not stay RUNNING for five polls longer than the dispatch timeout if its worker is silent. A worker is silent if the replica that then times the job out has heard nothing of the worker all that time, although it heard of others.",
	Kind:     invariants.Always,
	Source:   "Stale workers, the worker TTL window: a dead worker inside its TTL receives the publish; Scheduler internals, section 3, timeout detection",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		j := s.About
		if j.State != model.TimedOut || w.From != model.Running || s.Phase == "result_write" {
			return
		}
		age := min(s.At-w.Since, f.Silence(s.Event, j.Worker))
		limit := f.Config.TimeoutOf(j.Topic)
		if age < limit {
			return
		}
		t.Exercise()
		if age >= limit+ticksLate*f.Config.PollInterval {
			t.Violation(j, "%s timed it out at step %d after %s of RUNNING on %s without a word of that; the dispatch timeout is %s", invariants.Who(s.Event), invariants.StepNo(s.Step), age.Round(time.Millisecond), j.Worker, limit)
		}
	}}
})
