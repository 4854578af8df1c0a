package judge

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var noFailureForWantOfAttempts = rule.New(invariants.Invariant{
	Name:   "no-failure-for-want-of-attempts",
	Says:   "A job does not end FAILED for want of attempts while its scheduler knows of a worker that is alive and free. The scheduler may pick a worker past its TTL instead while it still lists that worker; such a pick costs an attempt.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, max scheduling retries: attempts are there for faults; Stale workers: a pick that meets one fails",
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
			t.Violation(j, "%s wrote FAILED at step %d, as its attempts were used up (%d), although it knew of %s, which was alive and free", invariants.Who(s.Event), invariants.StepNo(s.Step), j.Attempts, worker)
		}
	}}
})

var givenUpOnlyAtTheCeiling = rule.New(invariants.Invariant{
	Name:   "given-up-only-at-the-ceiling",
	Says:   "If no worker has reported a failure of a job, and a pool serves the job, then the job ends FAILED only once it has used up its scheduling retries, with the reason code max_scheduling_retries. A job that no pool serves may end with no_pool_mapping instead.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, max scheduling retries, and section 5, reason codes; Dead letters, retry ceiling before DLQ, and retry exhaustion reason code",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		j := s.About
		if j.State != model.Failed || w.From == model.Failed || j.FailureReported() {
			return
		}
		t.Exercise()
		who, at, given := invariants.Who(s.Event), invariants.StepNo(s.Step), f.GivenUpBy(s, w)
		switch most := f.Config.MaxSchedulingRetries; {
		case given && j.Attempts < most:
			t.Violation(j, "%s wrote FAILED at step %d, although it had used %d of its %d attempts, and no worker had reported a failure", who, at, j.Attempts, most)
		case j.ReasonCode != history.ReasonCeiling && (given || j.ReasonCode != history.ReasonNoPool):
			t.Violation(j, "%s wrote FAILED at step %d with the reason code %q, although no worker had reported a failure; it had used %d of its %d attempts", who, at, j.ReasonCode, j.Attempts, most)
		}
	}}
})

var lastCauseIsTrue = rule.New(invariants.Invariant{
	Name:   "last-cause-is-true",
	Says:   "The DLQ entry of a job that is given up for want of attempts says why the last attempt failed: no worker, a busy pool, its tenant's limit or a failed publish. The last attempt counts even if it broke off.",
	Kind:   invariants.Always,
	Source: "Dead letters, failure triage model: a job is triaged by its cause",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Buried: func(s *model.Step, letter *history.DeadLetter) {
		h := s.Handling
		if letter.LastCause == "" && s.About.FailureReported() {
			return // a worker may use the code for a failure of its own
		}
		if letter.ReasonCode != history.ReasonCeiling || h.ReadFailed != 0 {
			return // a cached state does not show what the job has met
		}
		met := ""
		switch {
		case !h.Scheduled, h.PublishFailed != 0:
			met = history.ReasonDispatch
		case h.Full:
			met = history.ReasonTenant
		case f.Config.StaleWorker == "fixed-retries": // what is known may change during a wait between two picks
			met = h.Lacks
		}
		t.Exercise()
		switch told := letter.LastCause; {
		case met != "" && told != met:
			t.Violation(s.About, "%s wrote its DLQ entry at step %d with the last cause %q; it was %s", invariants.Who(s.Event), invariants.StepNo(s.Step), told, met)
		case told == history.ReasonDispatch && met == "" && !h.Published && !h.Intended && !h.StoreFailed:
			t.Violation(s.About, "%s wrote its DLQ entry at step %d with the last cause %q, although the last attempt got no further than its pick", invariants.Who(s.Event), invariants.StepNo(s.Step), told)
		case told == history.ReasonTenant && f.Config.Tenants.Limit == 0:
			t.Violation(s.About, "%s wrote its DLQ entry at step %d with the last cause %q, although tenants have no limit", invariants.Who(s.Event), invariants.StepNo(s.Step), told)
		case told == "":
			t.Violation(s.About, "%s wrote its DLQ entry at step %d without a last cause", invariants.Who(s.Event), invariants.StepNo(s.Step))
		}
	}}
})

var attemptsLastTheirBudget = rule.New(invariants.Invariant{
	Name:   "attempts-last-their-budget",
	Says:   "A job that ends FAILED for want of attempts was tried for at least the sum of its back-off delays, whatever kept it from a worker. That is 22 minutes with the documented 50 attempts and delays of 1 s to 30 s. If a delivery of its request gives the job up, and that request was sent back each time before, the attempts take at most 1.5 x attempts x longest delay, plus the outages of the plan: 37 minutes.",
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
		if j.Attempts < f.Config.MaxSchedulingRetries || j.AskedTwice() || !full && !f.GivenUpBy(s, w) {
			return
		}
		t.Exercise()
		tried, budget, longest := s.At-began[j.ID], f.Config.RetryBudget(), f.Config.LongestTry()+f.Config.Outages
		switch {
		case tried < budget:
			t.Violation(j, "%s wrote FAILED at step %d after %d attempts in %s; its back-off makes at least %s of them",
				invariants.Who(s.Event), invariants.StepNo(s.Step), j.Attempts, tried.Truncate(time.Millisecond), budget)
		case tried > longest && j.SentBack(invariants.Who(s.Event)):
			t.Violation(j, "%s wrote FAILED at step %d after %d attempts in %s; they are to take at most %s",
				invariants.Who(s.Event), invariants.StepNo(s.Step), j.Attempts, tried.Truncate(time.Millisecond), longest)
		}
	}}
})
