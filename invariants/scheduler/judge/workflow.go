package judge

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"

	"github.com/wavetank-sim/wavetank/invariants"

	"github.com/wavetank-sim/wavetank/sim"
)

// What holds of workflow runs and their timers (Scheduler internals, section 8).
var workflowInvariants = []rule{
	stepsInOrder, noDelayFiresEarly, delayFiresOnTime, noDelayFiresTwice, runWritesNotLost, runWrittenByLockHolder, everyRunSettles,
}

var (
	withStrictRunLock = provided("workflow.strict_run_lock", func(c *config.Config) bool { return c.Workflow.StrictRunLock })
	withFenceRuns     = provided("workflow.fence_runs", func(c *config.Config) bool { return c.Workflow.FenceRuns })
	withDurableTimers = provided("workflow.durable_timers", func(c *config.Config) bool { return c.Workflow.DurableTimers })
	withDelayPoller   = provided("workflow.delay_poller", func(c *config.Config) bool { return c.Workflow.DelayPoller })
	withRunReconciler = provided("workflow.run_reconciler", func(c *config.Config) bool { return c.Workflow.RunReconciler })
)

var stepsInOrder = checking(invariants.Invariant{
	Name:   "steps-in-order",
	Says:   "A step's job is submitted only once a job of each step that it depends on is SUCCEEDED by its record.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: workflow steps",
}, func(f *facts, t *tally) checker {
	return checker{fired: func(s *step, k *stepJob) {
		t.exercise()
		for _, id := range k.step.DependsOn {
			if f.workflow.success(k.run, id) == 0 {
				t.violated(&k.run.as, "%s submitted %s at step %d, although step %s had not succeeded", invariants.Who(s.Event), k.id, s.Step, id)
			}
		}
	}}
})

var noDelayFiresEarly = checking(invariants.Invariant{
	Name:   "no-delay-fires-early",
	Says:   "The job of a step with a delay, or of a step that is tried again, is not submitted before its time.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: delay_sec, delay_until and retry backoff",
}, func(f *facts, t *tally) checker {
	return checker{fired: func(s *step, k *stepJob) {
		due, now := f.workflow.due(k), f.workflow.unix(s.At)
		if k.attempt == 1 && k.step.DelaySec == 0 && k.step.DelayUntil == 0 {
			return
		}
		t.exercise()
		if now < due {
			t.violated(&k.run.as, "%s submitted %s at step %d, %s before its time", invariants.Who(s.Event), k.id, s.Step, time.Duration(due-now)*time.Millisecond)
		}
	}}
})

// Of a delay that is kept in Redis: its score is a whole second; the poller's lock, if its holder has died, is
// there for two polls, and the next poll comes within another; and to advance a run takes its time.
const (
	rounding = time.Second
	handover = 5 * time.Second
)

var delayFiresOnTime = checking(invariants.Invariant{
	Name:   "delay-fires-on-time",
	Says:   "A delay that is long enough to be kept in Redis is over within three polls and a few seconds of its time, whoever has died meanwhile.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: durable workflow delay timers, and their background poller",
}, func(f *facts, t *tally) checker {
	bound := func() time.Duration { return rounding + 3*f.config.Workflow.DelayPoll + handover }
	// kept says by when the job of a delay is to be submitted, if the delay was long enough.
	kept := func(w wfWait) (due time.Duration, ok bool) {
		due = time.UnixMilli(w.until).Sub(f.workflow.began)
		return due, due-w.since >= f.config.Workflow.DurableFrom+rounding
	}
	return checker{
		fired: func(s *step, k *stepJob) {
			w, waited := k.run.waits[k.id]
			due, ok := kept(w)
			if !waited || !ok {
				return
			}
			t.exercise()
			if late := s.At - due; late > bound() {
				t.violated(&k.run.as, "%s submitted %s at step %d, %s after its time", invariants.Who(s.Event), k.id, s.Step, late.Truncate(time.Millisecond))
			}
		},
		ended: func(end *invariants.End) {
			for _, r := range f.workflow.order {
				for i := range r.Steps {
					s := &r.Steps[i]
					id := history.StepJobID(r.RunID, s.ID, s.Attempt)
					due, ok := kept(r.waits[id])
					if j := f.workflow.jobs[id]; j != nil && j.made != 0 || r.State != "RUNNING" || s.State != "WAITING" || !ok {
						continue
					}
					if end.At-due > bound() {
						t.violated(&r.as, "%s was never submitted, %s after its time", id, (end.At - due).Truncate(time.Millisecond))
					}
				}
			}
		},
	}
})

var noDelayFiresTwice = checking(invariants.Invariant{
	Name:   "no-delay-fires-twice",
	Says:   "The request of a step's job is stored once, unless who published it was not told so; and a step is tried again only once its last job is FAILED, though not for good, or TIMEOUT, and no more often than it says.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: atomic pop of past-due timers; retry {max, backoff}",
}, func(f *facts, t *tally) checker {
	return checker{
		submitted: func(s *step, k *stepJob, again stepAgain) {
			t.exercise()
			if again.seq != 0 && again.told && s.Kind != sim.KindLate { // what comes late nobody knows of who publishes it again
				t.violated(&k.run.as, "%s was stored a second time at step %d by %s, %s seq %d; the first was seq %d", k.id, s.Step, invariants.Who(s.Event), history.StreamSys, k.stored, again.seq)
			}
		},
		fired: func(s *step, k *stepJob) {
			if k.attempt == 1 {
				return
			}
			before := f.workflow.jobs[history.StepJobID(k.run.RunID, k.step.ID, k.attempt-1)]
			switch {
			case k.attempt > k.step.Retry.Max+1:
				t.violated(&k.run.as, "%s submitted %s at step %d; the step is to be tried again %d times", invariants.Who(s.Event), k.id, s.Step, k.step.Retry.Max)
			case before == nil || before.failed == 0:
				t.violated(&k.run.as, "%s submitted %s at step %d, although the attempt before it had not failed, or for good", invariants.Who(s.Event), k.id, s.Step)
			}
		},
	}
})

var runWritesNotLost = checking(invariants.Invariant{
	Name:   "run-writes-not-lost",
	Says:   "Each write of a run is of the version after the one that it replaces: nobody overwrites what they have not read.",
	Kind:   invariants.Always,
	Source: "the hardened run: a write is a compare-and-set on its version",
}, func(_ *facts, t *tally) checker {
	return checker{ran: func(s *step, r *workflowRun, w *runWrite) {
		t.exercise()
		if w.step != 0 && r.Version != w.was.Version+1 {
			t.violated(&r.as, "%s wrote version %d at step %d over version %d, which %s had written at step %d",
				invariants.Who(s.Event), r.Version, s.Step, w.was.Version, w.by, w.step)
		}
	}}
})

var runWrittenByLockHolder = checking(invariants.Invariant{
	Name:   "run-written-by-lock-holder",
	Says:   "Only the process that holds a run's lock writes the run.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: distributed workflow run locks, and their fall-back to the local lock alone",
}, func(_ *facts, t *tally) checker {
	return checker{ran: func(s *step, r *workflowRun, w *runWrite) {
		if w.step == 0 {
			return // its start, before anybody knows of it
		}
		t.exercise()
		switch l := &r.lock; {
		case l.heldBy(s.Event):
		case !l.live(s.At):
			t.violated(&r.as, "%s wrote the run at step %d without its lock, which nobody held", invariants.Who(s.Event), s.Step)
		default:
			t.violated(&r.as, "%s wrote the run at step %d while %s held its lock (since step %d)", invariants.Who(s.Event), s.Step, invariants.Process(l.node, l.incarnation), l.step)
		}
	}}
})

var everyRunSettles = checking(invariants.Invariant{
	Name:   "every-run-settles",
	Says:   "A run that was stored is over in the end, unless a job of it is not, or it still waits for a time to come.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 8: the reconciler provides eventual recovery for delay steps via NextAttemptAt checks",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *facts, t *tally) checker {
	return checker{ended: func(end *invariants.End) {
		for _, r := range f.workflow.order {
			t.exercise()
			if r.State == "RUNNING" && !waitsRightly(f, r, end) {
				t.violated(&r.as, "is still %s: %s", r.State, r.why())
			}
		}
	}}
})

// waitsRightly says whether a run has a job that is not over, or waits for a time to come.
func waitsRightly(f *facts, r *workflowRun, end *invariants.End) bool {
	for i := range r.Steps {
		s := &r.Steps[i]
		j := f.jobs[s.JobID]
		if s.State == "SUBMITTED" && j != nil && j.accepted && !j.state.terminal() || s.State == "WAITING" && s.NextAttemptAt > f.workflow.unix(end.At) {
			return true
		}
	}
	return false
}
