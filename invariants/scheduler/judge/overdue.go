package judge

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var overdueJobFoundWithinAPoll = rule.New(invariants.Invariant{
	Name:     "overdue-job-found-within-a-poll",
	OnDemand: true,
	Says:     "If a job is DISPATCHED or RUNNING beyond its timeout, or past its deadline, a tick of the reconciler brings the job on. That tick begins at most one poll later, plus the time that taking the lock may take.",
	Kind:     invariants.Always,
	Source:   "Scheduler internals, section 3, timeout detection and deadline expiration: pollInterval; Dispatch ordering, residual risk window",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	// A tick may ask for its lock twice: it renews the lock, and takes it anew. Each takes at most
	// storeOpTimeout.
	within := f.Config.PollInterval + 2*f.Config.StoreOpTimeout
	return observe.Checker{
		Wrote: func(s *model.Step, w *model.Write) {
			if !w.Bounded || s.At < w.Due {
				return
			}
			t.Exercise()
			if late := f.Ticks.Reconciler.Late(w.Due, s.At); late > within {
				t.Violation(s.About, "it was %s when its time was up at %s, and nobody brought it on for %s, until step %d (%s); a poll is %s",
					w.From, w.Due, late, invariants.StepNo(s.Step), s.Phase, f.Config.PollInterval)
			}
		},
		Ended: func(end *invariants.End) {
			for _, j := range f.Order {
				due, bounded := f.Due(j)
				if !bounded || end.At < due {
					continue
				}
				t.Exercise()
				if late := f.Ticks.Reconciler.Late(due, end.At); late > within {
					t.Violation(j, "it is %s, its time was up at %s, and nobody has brought it on for %s; a poll is %s", j.State, due, late, f.Config.PollInterval)
				}
			}
		},
	}
})

var whatIsDueIsTakenUp = rule.New(invariants.Invariant{
	Name:   "what-is-due-is-taken-up",
	Says:   "While nothing strikes, a loop takes up what is due within three polls. The lock of a tick may keep every replica out for so long. Due are a job that is beyond its timeout or its deadline, a job that has waited for pending_age, scheduled_age or intent_age, a dead letter that is to be triaged or replayed, and a rollback that was cut short.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 3: pollInterval, and section 8: a lock of two polls; Dead letters, replay worker",
	Needs:  []string{"terminal-states-final", "documented-transitions-only"}, // nobody can time out what is left of a record that Redis lost, nor look for the deadline of a job that was over
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	overdue := func(j *model.Job, due, at time.Duration) {
		t.Exercise()
		if late, left := f.Left(&f.Ticks.Reconciler, due, at); left && f.Config.Reconciler {
			t.Violation(j, "its time was up at %s, and nobody brought it on for %s; a poll is %s", due, late, f.Config.PollInterval)
		}
	}
	return observe.Checker{
		Wrote: func(s *model.Step, w *model.Write) {
			if w.Bounded && s.At >= w.Due {
				overdue(s.About, w.Due, s.At)
			}
		},
		TakenUp: func(s *model.Step, due time.Duration) {
			t.Exercise()
			if late, left := f.Left(&f.Ticks.Replayer, due, s.At); left {
				t.Violation(s.About, "it was to be taken up as %s from %s on, and no replayer looked at it for %s, until step %d; a poll is %s", s.About.State, due, late, invariants.StepNo(s.Step), f.Config.PollInterval)
			}
		},
		LetterCalled: func(s *model.Step, due time.Duration) {
			t.Exercise()
			if late, left := f.Left(&f.Ticks.Letters, due, s.At); left {
				t.Violation(s.About, "its dead letter was due at %s, and nobody visited it for %s, until step %d; a poll is %s", due, late, invariants.StepNo(s.Step), f.Config.PollInterval)
			}
		},
		RolledOn: func(s *model.Step, g *model.Saga, due time.Duration) {
			t.Exercise()
			if late, left := f.Left(&f.Ticks.Reconciler, due, s.At); left {
				t.Violation(g.Of, "the rollback of %s was to be taken up from %s on, and nobody took it up for %s, until step %d; a poll is %s", g.ID, due, late, invariants.StepNo(s.Step), f.Config.PollInterval)
			}
		},
		Ended: func(end *invariants.End) {
			for _, j := range f.Order {
				if due, bounded := f.Due(j); bounded && end.At >= due {
					overdue(j, due, end.At)
				}
			}
		},
	}
})

var waitingJobIsLeftAlone = rule.New(invariants.Invariant{
	Name:   "waiting-job-is-left-alone",
	Says:   "The replayer takes up a job only once the job has been PENDING for pending_age, or SCHEDULED for scheduled_age. A job that the replayer has found approved is the exception.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 3, pending replayer: jobs in PENDING longer than pendingAge",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		age, waits := f.Age(w.From)
		if h := s.Handling; h == nil || !h.Replays || h.Cost != 1 || w.Step > h.Lock || s.Phase != "scheduled_write" || !waits || s.About.InHandOf(invariants.Process(s.Node, s.Incarnation)) {
			return
		}
		t.Exercise()
		// The replayer uses the record's times, which are by its writers' clocks.
		was, says := s.At-w.Since, time.Duration(s.About.Updated-w.Updated)*time.Millisecond
		if was+model.Slack < age && says < age {
			t.Violation(s.About, "the replayer of %s took it up at step %d, after %s of %s; the age for that is %s", invariants.Who(s.Event), invariants.StepNo(s.Step), was.Round(time.Millisecond), w.From, age)
		}
	}}
})
