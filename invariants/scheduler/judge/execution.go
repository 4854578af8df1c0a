package judge

import (
	"fmt"
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var succeededImpliesFinishedExecution = rule.New(invariants.Invariant{
	Name:   "succeeded-implies-finished-execution",
	Says:   "A job becomes SUCCEEDED only after a worker has finished executing it. With deduplication by idempotency key, it suffices that a worker has finished executing another job of the same key.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1: RUNNING, succeeded",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	audited := func(end *invariants.End) {
		rule.WithRecord(f, func(j *model.Job) {
			if j.State != model.Succeeded || end.Streams == nil {
				return
			}
			t.Exercise()
			if !slices.ContainsFunc(j.Messages, func(m model.Message) bool { return m.Succeeded() }) {
				t.Violation(j, "is SUCCEEDED, but %s holds no result that says so", history.StreamSys)
			}
		})
	}
	return observe.Checker{Audited: audited, Wrote: func(s *model.Step, w *model.Write) {
		if s.About.State != model.Succeeded || w.From == model.Succeeded {
			return
		}
		t.Exercise()
		if s.About.Finished == 0 && !f.Deduplicated(s.About) {
			t.Violation(s.About, "SUCCEEDED was written at step %d, but no worker has finished the job (%d began it)", invariants.StepNo(s.Step), s.About.Begun)
		}
	}}
})

var resultIsWhatWasExecuted = rule.New(invariants.Invariant{
	Name:   "result-is-what-was-executed",
	Says:   "A worker answers each dispatch that it was given with a result under its own name. The result says how the execution has ended: the status, the reason code, the reason and the stored output.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1: SUCCEEDED, the worker succeeded; FAILED, the worker failed",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Replied: func(j *model.Job, m *model.Message) {
		if f.Config.Executions == nil {
			return
		}
		t.Exercise()
		if is, should := f.Misreports(j, m); should != "" {
			t.Violation(j, "%s answered at step %d, in message %d of %s, %s; it should be %s", m.From, invariants.StepNo(f.Step), m.Seq, history.StreamSys, is, should)
		}
	}}
})

var oneExecutionPerDispatch = rule.New(invariants.Invariant{
	Name:   "one-execution-per-dispatch",
	Says:   "A worker begins a job only for a dispatch that names the worker, and only once for each such dispatch.",
	Kind:   invariants.Always,
	Source: "Dispatch ordering, the production problem: a second dispatch is a second side effect",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return onBegin(t, func(s *model.Step) {
		j, last := s.About, model.Dispatch{} // the dispatch that this worker was given
		for i := range j.Dispatches {
			d := &j.Dispatches[i]
			switch {
			case d.Worker != "" && d.Worker != s.Node:
			case d.Begun == 0:
				d.Begun = s.Step
				return
			case d.Handed > last.Handed:
				last = *d
			}
		}
		given := invariants.Clause{}
		switch {
		case last.Handed > last.Begun:
			given = invariants.Say("; at step %d it was given seq %d again, which had been begun at step %d", invariants.StepNo(last.Handed), last.Seq, invariants.StepNo(last.Begun))
		case last.Handed > 0:
			given = invariants.Say("; it had begun seq %d, at step %d, and was not given it again", last.Seq, invariants.StepNo(last.Begun))
		}
		stored := "no dispatch was stored"
		switch n := len(j.Dispatches); {
		case n == 1 && last.Seq > 0:
			stored = "only 1 dispatch was stored"
		case n > 0:
			stored = fmt.Sprintf("no dispatch was left for it (%d stored)", n)
		}
		t.Violation(j, "%s began it at step %d, the %s time that it was begun, though %s%s", s.Node, invariants.StepNo(s.Step), invariants.Ordinal(j.Begun), stored, given)
	})
})

var oneExecutionAtATime = rule.New(invariants.Invariant{
	Name:   "one-execution-at-a-time",
	Says:   "At any time, a worker executes a job at most once for each dispatch of it.",
	Kind:   invariants.Always,
	Source: "Dispatch ordering, the production problem: a second dispatch is a second side effect",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return onBegin(t, func(s *model.Step) {
		at, dispatches := 0, 0
		for _, worker := range s.About.Executing {
			if worker == s.Node {
				at++
			}
		}
		for i := range s.About.Dispatches {
			if worker := s.About.Dispatches[i].Worker; worker == "" || worker == s.Node {
				dispatches++
			}
		}
		if at > 1 && at > dispatches {
			t.Violation(s.About, "%s began it at step %d, and executes it %d times at once, but the stream has stored %s for it",
				s.Node, invariants.StepNo(s.Step), at, invariants.CountOf(dispatches, "dispatch", "dispatches"))
		}
	})
})

var oneExecutionPerJob = rule.New(invariants.Invariant{
	Name:   "one-execution-per-job",
	Says:   "All workers together begin a job at most once, over all its epochs.",
	Kind:   invariants.Always,
	Source: "Dispatch ordering, the production problem: a second dispatch is a second side effect",
	Needs:  []string{"one-dispatch-per-job", "one-execution-per-dispatch"},
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return onBegin(t, func(s *model.Step) {
		if j := s.About; j.Begun > 1 {
			t.Violation(j, "execution %d began at step %d on %s; the first began at step %d on %s", j.Begun, invariants.StepNo(s.Step), s.Node, invariants.StepNo(j.BegunStep), j.BegunBy)
		}
	})
})

// onBegin checks each beginning of an execution.
func onBegin(t *rule.Tally, check func(*model.Step)) observe.Checker {
	return observe.Checker{Effect: func(s *model.Step) {
		if s.Name == "begin" {
			t.Exercise()
			check(s)
		}
	}}
}
