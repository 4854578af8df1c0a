package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var timesAreThoseOfTheirWrites = rule.New(invariants.Invariant{
	Name:   "times-are-those-of-their-writes",
	Says:   "Each write of a job's or a run's record sets updated_at to the time of the write. The first write sets created_at, too, and no later write changes it. The record of an output's check has the time of its write. The time of a write is at most store_op_timeout before the world's time, and never after it. It is not judged if a fault has struck since then, or if Redis has lost a part of the record.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 3: the reconciler goes by updated_at; of the other times no document says more",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	// dated judges a time that the step has written.
	dated := func(s *model.Step, j *model.Job, what string, told int64) {
		if !f.WritesNow(s) {
			return
		}
		t.Exercise()
		if at := f.Workflow.Since(told); at > s.At+model.Slack || at < s.At-f.Config.StoreOpTimeout-model.Slack {
			t.Violation(j, "%s dated %s %s at step %d; it is %s", invariants.Who(s.Event), what, at, invariants.StepNo(s.Step), s.At)
		}
	}
	// created judges when a record was made.
	created := func(s *model.Step, j *model.Job, was, is, updated int64) {
		switch {
		case was == 0 && is != updated && !f.Forgot():
			t.Violation(j, "%s made the record at step %d with created_at %d and updated_at %d", invariants.Who(s.Event), invariants.StepNo(s.Step), is, updated)
		case was != 0 && is != was:
			t.Violation(j, "%s wrote created_at %d at step %d, which was %d", invariants.Who(s.Event), is, invariants.StepNo(s.Step), was)
		}
	}
	found := map[string]int64{} // when a part of an output's check was dated, by its key and its field
	return observe.Checker{
		Wrote: func(s *model.Step, w *model.Write) {
			dated(s, s.About, "its record", s.About.Updated)
			created(s, s.About, w.Created, s.About.Created, s.About.Updated)
		},
		Ran: func(s *model.Step, r *model.WorkflowRun, w *model.RunWrite) {
			if r.State == "" {
				return
			}
			dated(s, &r.As, "its record", r.UpdatedAt)
			if r.Version == 1 {
				w.Was.CreatedAt = 0
			}
			if w.Was.CreatedAt == 0 || !f.Forgot() {
				created(s, &r.As, w.Was.CreatedAt, r.CreatedAt, r.UpdatedAt)
			}
		},
		Changed: func(s *model.Step, c *history.Fact) {
			if c.What != history.Finding || c.Change.Gone {
				return
			}
			place := c.Change.Key + " " + c.Change.Field
			before, known := found[place]
			if is, err := history.Read[history.OutputFinding](c.Change.Value); err == nil && (!known || is.At != before) {
				found[place] = is.At
				dated(s, f.Jobs[c.Job], "what is on record of its output", is.At)
			}
		},
	}
})
