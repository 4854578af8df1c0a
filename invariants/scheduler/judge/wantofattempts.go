package judge

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var noFailureForWantOfAttempts = rule.New(invariants.Invariant{
	Name:   "no-failure-for-want-of-attempts",
	Says:   "No job ends FAILED for want of attempts while its scheduler knows of a worker that is alive and free.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, max scheduling retries: attempts are there for faults",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		j := s.About
		if w.From == j.State || !j.State.Terminal() || j.Scheduled < 2 {
			return
		}
		t.Exercise()
		if s.Handling == nil || !f.GivenUpBy(s, w) {
			return
		}
		if worker := f.Free(s); worker != "" {
			t.Violation(j, "%s wrote FAILED at step %d for want of attempts, of which it had %d, although it knew of %s, which was alive and free", invariants.Who(s.Event), invariants.StepNo(s.Step), j.Attempts, worker)
		}
	}}
})

var givenUpOnlyAtTheCeiling = rule.New(invariants.Invariant{
	Name:   "given-up-only-at-the-ceiling",
	Says:   "A job of which no worker has reported a failure, and that a pool serves, ends FAILED only once it has used up its scheduling retries.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, max scheduling retries; Dead letters, retry ceiling before DLQ",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		if j := s.About; f.GivenUpBy(s, w) {
			t.Exercise()
			if most := f.Config.MaxSchedulingRetries; j.Attempts < most {
				t.Violation(j, "%s wrote FAILED at step %d, although it had used %d of its %d attempts, and no worker had reported a failure", invariants.Who(s.Event), invariants.StepNo(s.Step), j.Attempts, most)
			}
		}
	}}
})

var attemptsLastTheirBudget = rule.New(invariants.Invariant{
	Name:   "attempts-last-their-budget",
	Says:   "A job that ends FAILED for want of attempts was tried for as long as its back-off makes of them, whatever kept it from a worker: 22 minutes with the documented 50 attempts and 1 s to 30 s.",
	Kind:   invariants.Always,
	Source: "Dead letters, retry ceiling before DLQ: 50 attempts with 1s-30s back-off, some 25 minutes",
	Needs:  []string{"attempts-never-past-ceiling"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	began := map[string]time.Duration{} // when the first attempt was counted
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		j := s.About
		if j.State == model.Scheduled && j.Scheduled == 1 {
			began[j.ID] = s.At
		}
		full := s.Handling != nil && s.Handling.Full && j.State == model.Failed
		if j.Attempts < f.Config.MaxSchedulingRetries || j.Requests > 1 || !full && !f.GivenUpBy(s, w) {
			return // each request has a back-off of its own
		}
		t.Exercise()
		if tried, budget := s.At-began[j.ID], f.Config.RetryBudget(); tried < budget {
			t.Violation(j, "%s wrote FAILED at step %d after %d attempts in %s; its back-off makes %s of them",
				invariants.Who(s.Event), invariants.StepNo(s.Step), j.Attempts, tried.Truncate(time.Millisecond), budget)
		}
	}}
})
