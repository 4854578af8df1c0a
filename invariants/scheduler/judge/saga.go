package judge

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"

	"github.com/wavetank-sim/wavetank/invariants"
)

var (
	withAtomicRecord = provided("saga.atomic_record", func(c *config.Config) bool { return c.Saga.AtomicRecord })
	withPeek         = provided("saga.peek", func(c *config.Config) bool { return c.Saga.Peek })
	withLongSaga     = provided("a saga.lock_ttl of 1m at least", func(c *config.Config) bool { return c.Saga.LockTTL >= time.Minute })
	withDurable      = provided("saga.durable_rollback", func(c *config.Config) bool { return c.Saga.DurableRollback })
)

// What holds of sagas (Scheduler internals, section 4).
var sagaInvariants = []rule{
	compensationRecordedOnce, oneCompensationPerKey, compensationsInLIFOOrder, compensationOnlyOfSucceededJob,
	onlyLockHolderCompensates, sagaLockReleasedByOwnerOrExpiry, everyCompensationAccountedFor,
	situation(of((*sagas).rolledBackOnes), "saga-rolled-back", "A compensation is submitted.", "Scheduler internals, section 4, rollback trigger"),
	situation(of((*sagas).takenUpAgain), "saga-rollback-resumed", "A process goes on with a rollback that another has begun.", "the hardened rollback: what is due is taken up until the stack is empty"),
	situation(of((*sagas).succeededLater), "saga-joined-late", "A job of a saga succeeds once that is to be rolled back.", "the hardened rollback: what is recorded later is undone, too"),
	situation(of((*sagas).deniedOnes), "saga-compensation-denied", "The safety kernel denies a compensation, and the rollback goes on.", "Scheduler internals, section 4, soft safety check"),
	situation(of((*sagas).unreadables), "saga-entry-unreadable", "A compensation that cannot be read gets an entry in the DLQ.", "Scheduler internals, section 4, unmarshal errors"),
}

// of is how often something came about that the facts of sagas count.
func of(n func(*sagas) int) func(*facts) int { return func(f *facts) int { return n(&f.sagas) } }

var compensationRecordedOnce = checking(invariants.Invariant{
	Name:   "compensation-recorded-once",
	Says:   "A job's compensation is put onto its saga's stack once.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 4, recording compensation: when a job succeeds",
}, func(f *facts, t *tally) checker {
	f.sagas.recording = append(f.sagas.recording, func(s *step, c *compensation, again bool) {
		t.exercise()
		if again {
			t.violated(f.jobs[c.job], "%s put its compensation onto %s at step %d, where it had been put at step %d", invariants.Who(s.Event), history.StackKey(c.saga.id), s.Step, c.step)
		}
	})
	return checker{}
})

var oneCompensationPerKey = checking(invariants.Invariant{
	Name:   "one-compensation-per-key",
	Says:   "For an idempotency key of a saga's compensation one job is submitted, however often.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 4: the idempotency key of a compensation",
}, func(f *facts, t *tally) checker {
	f.sagas.submitting = append(f.sagas.submitting, func(s *step, c *compensation, _ bool) {
		t.exercise()
		if n := len(c.jobs); n > 1 {
			t.violated(f.jobs[c.job], "its compensation was submitted at step %d as %s, and before that as %s, under one idempotency key", s.Step, c.jobs[n-1], c.jobs[0])
		}
	})
	return checker{}
})

var compensationsInLIFOOrder = checking(invariants.Invariant{
	Name:   "compensations-in-lifo-order",
	Says:   "The compensations that were recorded by the time a rollback was due are submitted in the reverse order of their recording.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 4: pop compensation requests from stack (LIFO order)",
}, func(f *facts, t *tally) checker {
	f.sagas.submitting = append(f.sagas.submitting, func(s *step, c *compensation, first bool) {
		if !first || c.late {
			return
		}
		t.exercise()
		for _, before := range c.saga.recorded {
			if before == c {
				break
			}
			if !before.late && len(before.jobs) > 0 {
				t.violated(f.jobs[c.job], "its compensation, recorded at step %d, was submitted at step %d, after that of %s, which had been recorded before it, at step %d",
					c.step, s.Step, before.job, before.step)
				return
			}
		}
	})
	return checker{}
})

var compensationOnlyOfSucceededJob = checking(invariants.Invariant{
	Name:   "compensation-only-of-succeeded-job",
	Says:   "A compensation is submitted only for a job that has succeeded, if need be after it had ended otherwise, and only once a job of its saga has failed for good.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 4: recording compensation, and rollback trigger",
}, func(f *facts, t *tally) checker {
	f.sagas.submitting = append(f.sagas.submitting, func(s *step, c *compensation, _ bool) {
		t.exercise()
		j := f.jobs[c.job]
		switch {
		case c.saga.due == 0:
			t.violated(j, "%s submitted its compensation at step %d, and no job of %s has failed for good", invariants.Who(s.Event), s.Step, c.saga.id)
		case j == nil || !j.saga.succeeded && (!j.saga.answered || !j.state.terminal()):
			t.violated(j, "%s submitted the compensation of %s at step %d, which has not succeeded", invariants.Who(s.Event), c.job, s.Step)
		}
	})
	return checker{}
})

var onlyLockHolderCompensates = checking(invariants.Invariant{
	Name:   "only-lock-holder-compensates",
	Says:   "A saga's compensations are submitted only by the process that holds the lock of its rollback.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 4, and section 8, saga:<workflow_id>:lock: one rollback of a saga at a time",
}, func(f *facts, t *tally) checker {
	f.sagas.submitting = append(f.sagas.submitting, func(s *step, c *compensation, _ bool) {
		t.exercise()
		switch k := c.saga.lock; {
		case !k.live(s.At):
			t.violated(f.jobs[c.job], "%s submitted its compensation at step %d, while nobody held the lock of %s", invariants.Who(s.Event), s.Step, c.saga.id)
		case !k.heldBy(s.Event):
			t.violated(f.jobs[c.job], "%s submitted its compensation at step %d, while %s held the lock of %s", invariants.Who(s.Event), s.Step, invariants.Process(k.node, k.incarnation), c.saga.id)
		}
	})
	return checker{}
})

var sagaLockReleasedByOwnerOrExpiry = checking(invariants.Invariant{
	Name:   "saga-lock-released-by-owner-or-expiry",
	Says:   "The lock of a saga's rollback is released only by the process that took it; from anybody else's hands it goes only by expiry.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8, saga:<workflow_id>:lock",
}, func(f *facts, t *tally) checker {
	f.sagas.locking = append(f.sagas.locking, func(s *step, g *saga, was lock) {
		t.exercise()
		switch {
		case !was.live(s.At), was.expires != 0 && s.At >= was.expires-slack, was.node == s.Node && was.incarnation == s.Incarnation && g.lock.node == "":
		default:
			t.violated(nil, "%s took away the lock of %s at step %d that %s had held since step %d", invariants.Who(s.Event), g.id, s.Step, invariants.Process(was.node, was.incarnation), was.step)
		}
	})
	return checker{}
})

var everyCompensationAccountedFor = checking(invariants.Invariant{
	Name:   "every-compensation-accounted-for",
	Says:   "Once a saga is to be rolled back, each of its compensations is submitted, denied with an entry in the audit trail, or in the DLQ.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 4: durable rollback for multi-step workflows",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *facts, t *tally) checker {
	return checker{ended: func(*invariants.End) {
		for _, g := range f.sagas.order {
			if g.due == 0 {
				continue
			}
			for _, c := range g.recorded {
				if c.job == "" && c.late { // put there by nobody who says so
					continue
				}
				t.exercise()
				if !c.accounted() {
					t.violated(f.jobs[c.job], "%s is to be rolled back since step %d, but the compensation %swas neither submitted nor denied, and is not in the DLQ", g.id, g.due, c.recordedAs())
				}
			}
		}
	}}
})
