package workflows

import (
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/sim"
)

// What holds for sagas (Scheduler internals, section 4).
var sagaInvariants = []rule.Rule{
	compensationRecordedOnce, oneCompensationPerKey, compensationsInLIFOOrder, compensationOnlyOfSucceededJob,
	deniedCompensationIsSkipped, onlyLockHolderCompensates, sagaLockReleasedByOwnerOrExpiry, everyCompensationAccountedFor, finishedSagaLeavesNothing,
	rule.Situation(func(f *model.Facts) int { return f.Sagas.Submitted }, "saga-rolled-back", "A compensation is submitted.", "Scheduler internals, section 4, rollback trigger"),
	rule.Situation(func(f *model.Facts) int { return f.Sagas.Resumed }, "saga-rollback-resumed", "A process continues a rollback that another process has begun.", "the hardened rollback: what is due is taken up until the stack is empty"),
	rule.Situation(func(f *model.Facts) int { return f.Sagas.Late }, "saga-joined-late", "A job of a saga succeeds after the saga's rollback is due.", "the hardened rollback: what is recorded later is undone, too"),
	rule.Situation(func(f *model.Facts) int { return f.Sagas.Denied }, "saga-compensation-denied", "The safety kernel denies a compensation, and the rollback goes on.", "Scheduler internals, section 4, soft safety check"),
	rule.Situation(func(f *model.Facts) int { return f.Sagas.Unreadable }, "saga-entry-unreadable", "A compensation that cannot be read gets an entry in the DLQ.", "Scheduler internals, section 4, unmarshal errors"),
}

var compensationRecordedOnce = rule.OfSaga(invariants.Invariant{
	Name:   "compensation-recorded-once",
	Says:   "If a job has done its work and its request names a compensation, that compensation is pushed onto the saga's stack exactly once. Redis keeps the stack for 30 days from then on, and for 30 days after the run's last delay.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 4, recording compensation: when a job succeeds",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Recorded: func(s *model.Step, c *model.Compensation, again bool) {
		t.Exercise()
		if again {
			t.Violation(f.Jobs[c.Job], "%s put its compensation onto %s at step %d, where it had been put at step %d", invariants.Who(s.Event), history.StackKey(c.Saga.ID), invariants.StepNo(s.Step), invariants.StepNo(c.Step))
		}
		if left := c.Saga.Expires - s.At; c.Saga.Expires == 0 {
			t.Violation(f.Jobs[c.Job], "%s put its compensation onto %s at step %d, which Redis never forgets", invariants.Who(s.Event), history.StackKey(c.Saga.ID), invariants.StepNo(s.Step))
		} else if (left - model.StackTTL).Abs() > model.Slack {
			t.Violation(f.Jobs[c.Job], "%s put its compensation onto %s at step %d, which is kept for %s from then on, and not for %s", invariants.Who(s.Event), history.StackKey(c.Saga.ID), invariants.StepNo(s.Step), left, model.StackTTL)
		}
	}, Changed: func(s *model.Step, c *history.Fact) {
		r := f.Workflow.Runs[c.Job]
		if c.What != history.Run || r == nil || r.Over() || !f.WritesNow(s) || !slices.ContainsFunc(r.Steps, func(step history.RunStep) bool { return len(step.Compensation) > 0 }) {
			return
		}
		until := time.Duration(0)
		for i := range r.Steps {
			if r.Steps[i].State == "WAITING" {
				until = max(until, f.Workflow.Since(r.Steps[i].NextAttemptAt))
			}
		}
		if g := f.Sagas.Of(history.SagaOf(r.Tenant, r.RunID)); until > s.At && g.Holds(s.At) > 0 && g.Expires != 0 && g.Expires < until+model.StackTTL-rounding-model.Slack {
			t.Violation(&r.As, "%s wrote at step %d that a step waits until %s, and %s is kept for %s after that; it is to be kept for %s", invariants.Who(s.Event), invariants.StepNo(s.Step), until, history.StackKey(g.ID), g.Expires-until, model.StackTTL)
		}
	}, Ended: func(*invariants.End) {
		for _, j := range f.Order {
			if !j.Saga.Undoable || j.Saga.Done == 0 {
				continue
			}
			t.Exercise()
			if !j.Saga.Recorded {
				t.Violation(j, "its success was taken note of at step %d, but its compensation was never put onto %s", invariants.StepNo(j.Saga.Done), history.StackKey(j.Saga.ID))
			}
		}
	}}
})

var oneCompensationPerKey = rule.OfSaga(invariants.Invariant{
	Name:   "one-compensation-per-key",
	Says:   "All submissions of a compensation submit one job for its idempotency key. With engine.saga.peek this also holds if the compensation undoes several jobs.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 4: the idempotency key of a compensation",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Compensated: func(s *model.Step, c *model.Compensation, _ bool) {
		t.Exercise()
		if jobs := f.SubmittedAs(c); len(jobs) > 1 {
			t.Violation(f.Jobs[c.Job], "its compensation was submitted at step %d, and by then as %s, under one idempotency key", invariants.StepNo(s.Step), strings.Join(jobs, " and "))
		}
	}}
})

var compensationsInLIFOOrder = rule.OfSaga(invariants.Invariant{
	Name:   "compensations-in-lifo-order",
	Says:   "A rollback submits the compensations that were recorded by the time it was due in the reverse order of their recording.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 4: pop compensation requests from stack (LIFO order)",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Compensated: func(s *model.Step, c *model.Compensation, first bool) {
		if !first || c.Late {
			return
		}
		t.Exercise()
		for _, before := range c.Saga.Recorded {
			if before == c {
				break
			}
			if !before.Late && len(before.Jobs) > 0 {
				t.Violation(f.Jobs[c.Job], "its compensation, recorded at step %d, was submitted at step %d; that of %s, recorded before it at step %d, had been submitted at step %d",
					invariants.StepNo(c.Step), invariants.StepNo(s.Step), before.Job, invariants.StepNo(before.Step), invariants.StepNo(before.First))
				return
			}
		}
	}}
})

var compensationOnlyOfSucceededJob = rule.New(invariants.Invariant{
	Name:   "compensation-only-of-succeeded-job",
	Says:   "A scheduler submits a compensation only for a job that has succeeded, even if the job ended otherwise before. It does so only once a job of the same saga has failed for good. A saga is the jobs of one workflow of one tenant, by their requests.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 4: recording compensation, and rollback trigger",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Compensated: func(s *model.Step, c *model.Compensation, _ bool) {
		t.Exercise()
		j := f.Jobs[c.Job]
		switch {
		case c.Saga.Due == 0:
			t.Violation(j, "%s submitted its compensation at step %d, and no job of %s has failed for good", invariants.Who(s.Event), invariants.StepNo(s.Step), c.Saga.ID)
		case j == nil || j.Saga.Done == 0 && (!j.Saga.Answered || !j.State.Terminal()):
			t.Violation(j, "%s submitted the compensation of %s at step %d, which has not succeeded", invariants.Who(s.Event), c.Job, invariants.StepNo(s.Step))
		}
	}}
})

var deniedCompensationIsSkipped = rule.OfSaga(invariants.Invariant{
	Name:   "denied-compensation-is-skipped",
	Says:   "A rollback does not submit a compensation if the safety kernel's last answer denies it. If the kernel gives no answer, the rollback goes on.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 4, soft safety check: DENY: skip this compensation",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Compensated: func(s *model.Step, c *model.Compensation, _ bool) {
		if s.Kind == sim.KindLate { // it was under way
			return
		}
		t.Exercise()
		if denied := f.Denied(s, c); denied != 0 {
			t.Violation(f.Jobs[c.Job], "%s submitted its compensation at step %d as %s, although the safety kernel had denied that at step %d", invariants.Who(s.Event), invariants.StepNo(s.Step), c.As, invariants.StepNo(denied))
		}
	}}
})

var onlyLockHolderCompensates = rule.OfSaga(invariants.Invariant{
	Name:   "only-lock-holder-compensates",
	Says:   "Only the process that holds the lock of a saga's rollback submits the saga's compensations. A compensation that arrives after its publisher has given it up is not judged.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 4, and section 8, saga:<workflow_id>:lock: one rollback of a saga at a time",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Compensated: func(s *model.Step, c *model.Compensation, _ bool) {
		t.Exercise()
		switch k := c.Saga.Lock; {
		case s.Kind == sim.KindLate:
		case !k.Live(s.At):
			t.Violation(f.Jobs[c.Job], "%s submitted its compensation at step %d, while nobody held the lock of %s", invariants.Who(s.Event), invariants.StepNo(s.Step), c.Saga.ID)
		case !k.HeldBy(s.Event):
			t.Violation(f.Jobs[c.Job], "%s submitted its compensation at step %d, while %s held the lock of %s", invariants.Who(s.Event), invariants.StepNo(s.Step), invariants.Process(k.Node, k.Incarnation), c.Saga.ID)
		}
	}}
})

var sagaLockReleasedByOwnerOrExpiry = rule.New(invariants.Invariant{
	Name:   "saga-lock-released-by-owner-or-expiry",
	Says:   "Only the process that took the lock of a saga's rollback releases it. Otherwise the lock ends only by expiry.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8, saga:<workflow_id>:lock",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{SagaLocked: func(s *model.Step, g *model.Saga, was model.Lock) {
		t.Exercise()
		switch {
		case !was.Live(s.At), was.Expires != 0 && s.At >= was.Expires-model.Slack, was.Node == s.Node && was.Incarnation == s.Incarnation && g.Lock.Node == "":
		default:
			t.Violation(nil, "%s took away the lock of %s at step %d that %s had held since step %d", invariants.Who(s.Event), g.ID, invariants.StepNo(s.Step), invariants.Process(was.Node, was.Incarnation), invariants.StepNo(was.Step))
		}
	}}
})

var everyCompensationAccountedFor = rule.OfSaga(invariants.Invariant{
	Name:   "every-compensation-accounted-for",
	Says:   "Once a saga is to be rolled back, each of its compensations is submitted, is in the DLQ, or is denied by the safety kernel with an entry in the audit trail. An entry in the DLQ is in the index, and lasts for dlq_entry_ttl.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 4: durable rollback for multi-step workflows",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ended: func(end *invariants.End) {
		for _, g := range f.Sagas.Order {
			if g.Due == 0 {
				continue
			}
			for _, c := range g.Recorded {
				if c.Job == "" && c.Late { // nobody says that they pushed it
					continue
				}
				t.Exercise()
				if !c.Accounted() {
					t.Violation(f.Jobs[c.Job], "the rollback of %s %s, but the compensation %swas neither submitted nor denied by the safety kernel, and is not in the DLQ", g.ID, g.DueAs(), c.RecordedAs())
					continue
				}
				if c.Entry == "" {
					continue
				}
				if what, amiss := rule.EntryAmiss(f, end, c.Entry, f.Letter(c.Entry)); amiss {
					t.Violation(f.Jobs[c.Job], "the rollback of %s %s, and the compensation %sis in the DLQ, but %s%s %s", g.ID, g.DueAs(), c.RecordedAs(), history.DlqPrefix, c.Entry, what)
				}
			}
		}
	}}
})

var finishedSagaLeavesNothing = rule.New(invariants.Invariant{
	Name:   "finished-saga-leaves-nothing",
	Says:   "A process that rolls a saga back, and has seen the saga's stack empty, releases the lock of the rollback. With durable_rollback, it also removes the saga's entry from saga:rollbacks or puts it off, so that no process resumes the rollback. Once a run has SUCCEEDED, its stack holds no compensation.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8, saga:<workflow_id>:lock; the hardened rollback: what is due is taken up until the stack is empty",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	judge := func(g *model.Saga, l *model.Lock) {
		if e := g.Emptied; e.Step > l.Step && l.Expires-e.At > model.Doubt {
			t.Violation(nil, "the lock of %s that %s took at step %d ran out: it was not given back, although its holder lives and had seen the stack empty at step %d",
				g.ID, invariants.Process(l.Node, l.Incarnation), invariants.StepNo(l.Step), invariants.StepNo(e.Step))
		}
	}
	return observe.Checker{
		RolledBack: func(s *model.Step, g *model.Saga) {
			if g.Emptied.Step == 0 {
				return
			}
			t.Exercise()
			if n := &g.Noted; f.Config.Saga.DurableRollback && g.Holds(s.At) == 0 && n.InSight(s.At) && n.Step < g.Emptied.Step {
				t.Violation(nil, "%s had seen the stack of %s empty at step %d and ends its rollback at step %d, but %s has it still to be taken up, as of step %d",
					invariants.Who(s.Event), g.ID, invariants.StepNo(g.Emptied.Step), invariants.StepNo(s.Step), history.RollbacksKey, invariants.StepNo(n.Step))
			}
		},
		SagaLocked: func(s *model.Step, g *model.Saga, was model.Lock) {
			if g.Lock.Node != "" && !s.Rewinds() {
				judge(g, &was)
			}
		},
		Ended: func(end *invariants.End) {
			for _, g := range f.Sagas.Order {
				if !g.Lock.Live(end.At) {
					judge(g, &g.Lock)
				}
			}
			for _, r := range f.Workflow.Order {
				if r.State != "SUCCEEDED" {
					continue
				}
				t.Exercise()
				for _, c := range f.LeftBehind(r) {
					t.Violation(&r.As, "is SUCCEEDED since step %d, but %s still holds the compensation %s", invariants.StepNo(r.Step), history.StackKey(c.Saga.ID), c.RecordedAs())
				}
			}
		},
	}
})
