package workflows

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/sim"
)

// What holds for workflow runs and their timers (Scheduler internals, section 8).
var workflowInvariants = []rule.Rule{
	stepsInOrder, stepWaitsAsAsked, noDelayFiresEarly, delayFiresOnTime, delayWaitsForNoPoll, noDelayFiresTwice, retriesAreUsedUp, runSucceedsByItsSteps, runTellsOfItsSteps, runWritesNotLost,
	runThatIsOverRests, runIndexAgreesWithRecord, runWrittenByLockHolder, everyRunSettles,
}

var stepsInOrder = rule.New(invariants.Invariant{
	Name:   "steps-in-order",
	Says:   "A scheduler submits a step's job only once each step that it depends on has a job that is SUCCEEDED by its record, and once the run's record has named the job.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: workflow steps",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Fired: func(s *model.Step, k *model.StepJob) {
		t.Exercise()
		for _, id := range k.Step.DependsOn {
			if f.Workflow.Success(k.Run, id) == (model.When{}) {
				t.Violation(&k.Run.As, "%s submitted %s at step %d, although step %s had not succeeded (the run's record was last written at step %d)", invariants.Who(s.Event), k.ID, invariants.StepNo(s.Step), id, invariants.StepNo(k.Run.Step))
			}
		}
		if j := f.Jobs[k.ID]; !k.Decided && j.Saga.Workflow == k.Run.RunID {
			t.Violation(&k.Run.As, "%s submitted %s at step %d, which the run's record has never named (it was last written at step %d)", invariants.Who(s.Event), k.ID, invariants.StepNo(s.Step), invariants.StepNo(k.Run.Step))
		}
	}}
})

var stepWaitsAsAsked = rule.New(invariants.Invariant{
	Name:   "step-waits-as-asked",
	Says:   "While a step waits, the run's record has the time until which it waits. That time follows from the step's delay_sec, its delay_until or its back-off, counted from the ends of the jobs before it.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: delay_sec, delay_until and retry backoff",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ran: func(s *model.Step, r *model.WorkflowRun, _ *model.RunWrite) {
		for i := range r.Steps {
			step := &r.Steps[i]
			if step.State != "WAITING" {
				continue
			}
			t.Exercise()
			k := f.Workflow.StepJob(history.StepJobID(r.RunID, step.ID, step.Attempt))
			soonest, latest := f.Workflow.Due(k, false).Told, k.Waits.Due.Told
			if until := step.NextAttemptAt; until < soonest || until > latest {
				t.Violation(&r.As, "%s wrote at step %d that %s waits until %s; it is to wait until %s", invariants.Who(s.Event), invariants.StepNo(s.Step), k.ID, f.Workflow.Since(until), f.Workflow.Since(soonest))
			}
		}
	}}
})

var noDelayFiresEarly = rule.New(invariants.Invariant{
	Name:   "no-delay-fires-early",
	Says:   "A scheduler does not submit the job of a delayed step, or of a step that is tried again, before its time.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: delay_sec, delay_until and retry backoff",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Fired: func(s *model.Step, k *model.StepJob) {
		due := f.Workflow.Due(k, false)
		if k.Attempt == 1 && k.Step.DelaySec == 0 && k.Step.DelayUntil == 0 {
			return
		}
		t.Exercise()
		told := f.Workflow.Since(due.Told)
		switch early := due.At - s.At; {
		case s.At < told:
			t.Violation(&k.Run.As, "%s submitted %s at step %d, %s before its time (the run's record was last written at step %d)", invariants.Who(s.Event), k.ID, invariants.StepNo(s.Step), (told - s.At).Round(time.Millisecond), invariants.StepNo(k.Run.Step))
		case early > f.Config.JobLockTTL: // a job's end is under way under its lock, after its writer has dated it
			t.Violation(&k.Run.As, "%s submitted %s at step %d, %s before its time, though not by what the records say", invariants.Who(s.Event), k.ID, invariants.StepNo(s.Step), early.Round(time.Millisecond))
		}
	}}
})

// rounding is the rounding of a delay that is kept in Redis, whose score is a whole second.
const rounding = time.Second

var delayFiresOnTime = rule.New(invariants.Invariant{
	Name:   "delay-fires-on-time",
	Says:   "A delay that is long enough to be kept in Redis ends by the next poll, even if a poller has died: the poller's lock lasts for two polls, and another poller comes within one more. A stored run starts within the same time. If a strike makes a poll fail, keeps it from the run, or holds it up over another run, the polls after it end the delay.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: durable workflow delay timers, and their background poller",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	bound := func() time.Duration { return rounding + 3*f.Config.Workflow.DelayPoll }
	// late is how long after its time something is done.
	late := func(r *model.WorkflowRun, at, due time.Duration) time.Duration {
		return at - max(due, f.Workflow.PollFailed, r.Failed)
	}
	// kept returns the time by which the job of a delay is to be submitted, if the step's own delay is long
	// enough and the run's record has it. It uses what the step asks for, and the world's time with a
	// tolerance of the time for which the end of a job may be under way under its lock.
	kept := func(k *model.StepJob) (due time.Duration, ok bool) {
		w := &k.Waits
		due = min(f.Workflow.Since(w.Due.Told), w.Due.At+f.Config.JobLockTTL)
		return max(due, w.Since), w.Since != 0 && f.Workflow.Delay(k) >= f.Config.Workflow.DurableFrom
	}
	return observe.Checker{
		Ran: func(s *model.Step, r *model.WorkflowRun, w *model.RunWrite) {
			if w.Was.Version != 1 || r.Version != 2 {
				return
			}
			t.Exercise()
			if late(r, s.At, r.Made) > bound() {
				t.Violation(&r.As, "%s started it at step %d, %s after it was stored", invariants.Who(s.Event), invariants.StepNo(s.Step), (s.At - r.Made).Truncate(time.Millisecond))
			}
		},
		Fired: func(s *model.Step, k *model.StepJob) {
			due, ok := kept(k)
			if !ok {
				return
			}
			t.Exercise()
			if late(k.Run, s.At, due) > bound() {
				t.Violation(&k.Run.As, "%s submitted %s at step %d, %s after its time", invariants.Who(s.Event), k.ID, invariants.StepNo(s.Step), (s.At - due).Truncate(time.Millisecond))
			}
		},
		Ended: func(end *invariants.End) {
			for _, r := range f.Workflow.Order {
				if r.Version == 1 && late(r, end.At, r.Made) > bound() {
					t.Violation(&r.As, "was never started, %s after it was stored", (end.At - r.Made).Truncate(time.Millisecond))
				}
				for i := range r.Steps {
					s := &r.Steps[i]
					k := f.Workflow.StepJob(history.StepJobID(r.RunID, s.ID, s.Attempt))
					if k == nil {
						continue
					}
					due, ok := kept(k)
					if k.Made != 0 || r.Over() || s.State != "WAITING" || !ok {
						continue
					}
					if late(r, end.At, due) > bound() {
						t.Violation(&r.As, "%s was never submitted, %s after its time", k.ID, (end.At - due).Truncate(time.Millisecond))
					}
				}
			}
		},
	}
})

var delayWaitsForNoPoll = rule.New(invariants.Invariant{
	Name:   "delay-waits-for-no-poll",
	Says:   "A replica that writes a delay into a run's record, or starts while Redis keeps a long delay, sets a timer for it. The delay ends when the timer does, or at its second try if another replica holds the run's lock at the first. No poller or reconciler has to end it. The invariant is not judged if anything strikes meanwhile.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: scheduleAfter() and its time.AfterFunc, and recoverDelayTimers on startup",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	// late is how much later than the timer at is, if there is a timer.
	late := func(k *model.StepJob, at time.Duration) (d time.Duration, ok bool) {
		w := &k.Waits
		if w.Armed == 0 || w.Due == (model.When{}) || !f.CalmSince(w.Armed) {
			return 0, false
		}
		return at - max(f.Workflow.Since(w.Due.Told), w.Armed, k.Run.Freed), true
	}
	bound := func() time.Duration { return rounding + 2*f.Config.RetryDelayStore }
	return observe.Checker{
		Fired: func(s *model.Step, k *model.StepJob) {
			d, ok := late(k, s.At)
			if !ok {
				return
			}
			t.Exercise()
			if d > bound() {
				t.Violation(&k.Run.As, "%s submitted %s at step %d, %s after a timer for it was due", invariants.Who(s.Event), k.ID, invariants.StepNo(s.Step), d.Truncate(time.Millisecond))
			}
		},
		Ended: func(end *invariants.End) {
			for _, r := range f.Workflow.Order {
				for i := range r.Steps {
					k := f.Workflow.StepJob(history.StepJobID(r.RunID, r.Steps[i].ID, r.Steps[i].Attempt))
					if k == nil || k.Made != 0 || r.Over() || r.Steps[i].State != "WAITING" || r.Lock.Live(end.At) {
						continue
					}
					if d, ok := late(k, end.At); ok && d > bound() {
						t.Violation(&r.As, "%s was never submitted, %s after a timer for it was due", k.ID, d.Truncate(time.Millisecond))
					}
				}
			}
		},
	}
})

var noDelayFiresTwice = rule.New(invariants.Invariant{
	Name:   "no-delay-fires-twice",
	Says:   "The stream stores the request of a step's job once. It stores it again only if the publisher was not told that it was stored. A step is tried again only once its last job is TIMEOUT, or FAILED but not for good, and at most retry.max times.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: atomic pop of past-due timers; a step's retry.max, which no document gives",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{
		Submitted: func(s *model.Step, k *model.StepJob, again model.StepAgain) {
			t.Exercise()
			if again.Seq != 0 && again.Told && s.Kind != sim.KindLate { // whoever publishes it again does not know of a late publish
				t.Violation(&k.Run.As, "%s was stored a second time at step %d by %s, %s seq %d; the first was seq %d", k.ID, invariants.StepNo(s.Step), invariants.Who(s.Event), history.StreamSys, k.Stored, again.Seq)
			}
		},
		Fired: func(s *model.Step, k *model.StepJob) {
			if k.Attempt == 1 {
				return
			}
			before := f.Workflow.Jobs[history.StepJobID(k.Run.RunID, k.Step.ID, k.Attempt-1)]
			switch {
			case k.Attempt > k.Step.Retry.Max+1:
				t.Violation(&k.Run.As, "%s submitted %s at step %d; the step is to be tried again %d times", invariants.Who(s.Event), k.ID, invariants.StepNo(s.Step), k.Step.Retry.Max)
			case before == nil || before.Failed == (model.When{}):
				t.Violation(&k.Run.As, "%s submitted %s at step %d, although the attempt before it had not failed, or for good (the run's record was last written at step %d)", invariants.Who(s.Event), k.ID, invariants.StepNo(s.Step), invariants.StepNo(k.Run.Step))
			}
		},
	}
})

var retriesAreUsedUp = rule.New(invariants.Invariant{
	Name:   "retries-are-used-up",
	Says:   "A run becomes FAILED only once one of its steps may not be tried again. That is so if retry.max + 1 jobs of the step have ended FAILED or TIMEOUT, or if one has ended in a way that no retry mends.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8, workflow steps; their retry.max, which no document gives",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ran: func(s *model.Step, r *model.WorkflowRun, w *model.RunWrite) {
		if r.State != "FAILED" || w.Was.State == "FAILED" {
			return
		}
		t.Exercise()
		if !slices.ContainsFunc(r.Steps, func(step history.RunStep) bool { return f.UsedUp(r, &step) }) {
			t.Violation(&r.As, "%s wrote FAILED at step %d, although no step of it has used up its retries, or ended for good", invariants.Who(s.Event), invariants.StepNo(s.Step))
		}
	}}
})

var runSucceedsByItsSteps = rule.New(invariants.Invariant{
	Name:   "run-succeeds-by-its-steps",
	Says:   "A run becomes SUCCEEDED only once each of its steps has a job that is SUCCEEDED by its record.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: workflow steps",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ran: func(s *model.Step, r *model.WorkflowRun, w *model.RunWrite) {
		if r.State != "SUCCEEDED" || w.Was.State == "SUCCEEDED" {
			return
		}
		t.Exercise()
		for i := range r.Steps {
			if step := &r.Steps[i]; f.Workflow.Success(r, step.ID) == (model.When{}) {
				t.Violation(&r.As, "%s wrote SUCCEEDED at step %d, although step %s had not succeeded", invariants.Who(s.Event), invariants.StepNo(s.Step), step.ID)
			}
		}
	}}
})

var runTellsOfItsSteps = rule.New(invariants.Invariant{
	Name:   "run-tells-of-its-steps",
	Says:   "A run's record says that a step is SUCCEEDED only once the step's job is SUCCEEDED by its own record. It says that a step is FAILED only once the step may not be tried again. A FAILED run has a FAILED step; the run's reason names the last job of that step how the job ended, and its reason code. The reason of a step that is FAILED or waits for another try names the same of its last job. A SUCCEEDED step has no reason, nor has a run that is not FAILED.",
	Kind:   invariants.Always,
	Source: "the run's record: what its states mean, and the reason of a failure",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	// tells says whether a reason is that a job of the run has failed.
	tells := func(reason string, r *model.WorkflowRun, id string) bool {
		k, j := f.Workflow.StepJob(id), f.Jobs[id]
		if k == nil || j == nil || !strings.Contains(reason, id+" is ") {
			return false
		}
		return j.Saga.Workflow != r.RunID || slices.ContainsFunc(k.Ends, func(end model.End) bool {
			return end.State != model.Succeeded && strings.HasSuffix(reason, id+" is "+end.String())
		})
	}
	return observe.Checker{Ran: func(s *model.Step, r *model.WorkflowRun, _ *model.RunWrite) {
		for i := range r.Steps {
			step := &r.Steps[i]
			k := f.Workflow.StepJob(step.JobID)
			last, failed := step.JobID, step.State == "FAILED"
			if step.State == "WAITING" && step.Attempt > 1 {
				last, failed = history.StepJobID(r.RunID, step.ID, step.Attempt-1), true
			}
			switch {
			case step.State == "SUCCEEDED" && (k == nil || k.Succeeded == (model.When{})), step.State == "FAILED" && !f.UsedUp(r, step):
				t.Violation(&r.As, "%s wrote at step %d that step %s is %s, although its job %s is not", invariants.Who(s.Event), invariants.StepNo(s.Step), step.ID, step.State, step.JobID)
			case step.State == "SUCCEEDED" && step.Reason != "", failed && !tells(step.Reason, r, last):
				t.Violation(&r.As, "%s wrote at step %d that step %s is %s for the reason %q, which is not how its last job has ended", invariants.Who(s.Event), invariants.StepNo(s.Step), step.ID, step.State, step.Reason)
			}
		}
		if r.State != "FAILED" {
			if r.Reason != "" {
				t.Violation(&r.As, "%s wrote %s at step %d, and for a reason: %q", invariants.Who(s.Event), r.State, invariants.StepNo(s.Step), r.Reason)
			}
			return
		}
		t.Exercise()
		if !slices.ContainsFunc(r.Steps, func(step history.RunStep) bool {
			return step.State == "FAILED" && tells(r.Reason, r, step.JobID)
		}) {
			t.Violation(&r.As, "%s wrote FAILED at step %d for the reason %q, which names the end of no step that says FAILED", invariants.Who(s.Event), invariants.StepNo(s.Step), r.Reason)
		}
	}}
})

var runThatIsOverRests = rule.New(invariants.Invariant{
	Name:   "run-that-is-over-rests",
	Says:   "A process that has written or read that a run is FAILED or SUCCEEDED submits no further job of the run, and does not write the run again. A publish or a write that arrives after its sender has given it up is not judged.",
	Kind:   invariants.Always,
	Source: "the run's record: of a run that has failed no further step is submitted",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{
		Fired: func(s *model.Step, k *model.StepJob) {
			t.Exercise()
			if k.Run.Over() && k.Run.Knowing[invariants.Who(s.Event)] && s.Kind != sim.KindLate {
				t.Violation(&k.Run.As, "%s submitted %s at step %d, although it knew the run to be %s, as was written at step %d", invariants.Who(s.Event), k.ID, invariants.StepNo(s.Step), k.Run.State, invariants.StepNo(k.Run.Step))
			}
		},
		Ran: func(s *model.Step, r *model.WorkflowRun, w *model.RunWrite) {
			if w.Known && s.Kind != sim.KindLate {
				t.Violation(&r.As, "%s wrote %s at step %d, although it knew the run to be %s, as was written at step %d", invariants.Who(s.Event), r.State, invariants.StepNo(s.Step), w.Was.State, invariants.StepNo(w.Step))
			}
		},
	}
})

// runKept is how long the record of a run that is over is kept: as long as dead letters of its jobs.
const runKept = 30 * 24 * time.Hour

var runIndexAgreesWithRecord = rule.New(invariants.Invariant{
	Name:   "run-index-agrees-with-record",
	Says:   "While a run is not over, its record never expires, and the index of such runs has it at the time of its creation. Once the run is over, its record lasts for another 30 days, and neither the index nor the delays have it.",
	Kind:   invariants.Always,
	Source: "the run's keys: cordum:wf:runs, and Scheduler internals, section 8: cordum:wf:delay:timers",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ran: func(s *model.Step, r *model.WorkflowRun, w *model.RunWrite) {
		t.Exercise()
		says := func(what string) {
			t.Violation(&r.As, "%s wrote %s at step %d, and %s", invariants.Who(s.Event), r.State, invariants.StepNo(s.Step), what)
		}
		left := w.Expires - s.At
		switch place, err := strconv.ParseFloat(w.Place, 64); {
		case !r.Over() && w.Expires != 0:
			says("the record expires")
		case !r.Over() && (err != nil || int64(place) != r.CreatedAt):
			says(history.LiveRunsKey + " has the run at " + cmp.Or(w.Place, "no place"))
		case !r.Over():
		case w.Expires == 0:
			says("the record never expires")
		case left < runKept-time.Second || left > runKept+time.Second:
			says("the record expires " + left.Round(time.Second).String() + " later")
		case w.Place != "":
			says(history.LiveRunsKey + " still has it")
		case w.Delayed:
			says(history.TimersKey + " still has it")
		}
	}}
})

var runWritesNotLost = rule.New(invariants.Invariant{
	Name:   "run-writes-not-lost",
	Says:   "Each write of a run has the version after the one that it replaces. No process overwrites a version that it has not read.",
	Kind:   invariants.Always,
	Source: "the hardened run: a write is a compare-and-set on its version",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ran: func(s *model.Step, r *model.WorkflowRun, w *model.RunWrite) {
		t.Exercise()
		if w.Step != 0 && r.Version != w.Was.Version+1 {
			came := w.By + " had written"
			if w.By == "" {
				came = "Redis had gone back to"
			}
			t.Violation(&r.As, "%s wrote version %d at step %d over version %d, which %s at step %d",
				invariants.Who(s.Event), r.Version, invariants.StepNo(s.Step), w.Was.Version, came, invariants.StepNo(w.Step))
		}
	}}
})

var runWrittenByLockHolder = rule.New(invariants.Invariant{
	Name:   "run-written-by-lock-holder",
	Says:   "Only the process that holds a run's lock writes the run.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 8: distributed workflow run locks, and their fall-back to the local lock alone",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ran: func(s *model.Step, r *model.WorkflowRun, w *model.RunWrite) {
		if w.Was.State == "" {
			return // its start, before anybody knows of it, or another start after its record was lost
		}
		t.Exercise()
		switch l := &r.Lock; {
		case l.HeldBy(s.Event):
		case !l.Live(s.At):
			t.Violation(&r.As, "%s wrote the run at step %d without its lock, which nobody held", invariants.Who(s.Event), invariants.StepNo(s.Step))
		default:
			t.Violation(&r.As, "%s wrote the run at step %d while %s held its lock (since step %d)", invariants.Who(s.Event), invariants.StepNo(s.Step), invariants.Process(l.Node, l.Incarnation), invariants.StepNo(l.Step))
		}
	}}
})

var everyRunSettles = rule.New(invariants.Invariant{
	Name:   "every-run-settles",
	Says:   "A stored run is still there at the end, and is over. It need not be over if a job of it is not over, or if a step still waits for a time to come.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 8: the reconciler provides eventual recovery for delay steps via NextAttemptAt checks",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ended: func(end *invariants.End) {
		for _, r := range f.Workflow.Order {
			t.Exercise()
			switch {
			case r.State == "" && !f.ClientAway(): // a client that was not told that it is stored starts it again
				t.Violation(&r.As, "is not stored any more")
			case !r.Over() && !waitsRightly(f, r, end):
				t.Violation(&r.As, "is still %s: %s", r.State, r.Why())
			}
		}
	}}
})

// waitsRightly says whether a run has a job that is not over, or waits for a time to come.
func waitsRightly(f *model.Facts, r *model.WorkflowRun, end *invariants.End) bool {
	for i := range r.Steps {
		s := &r.Steps[i]
		j := f.Jobs[s.JobID]
		if s.State == "SUBMITTED" && j != nil && j.Accepted && !j.State.Terminal() {
			return true
		}
		if s.State == "WAITING" && f.Workflow.Due(f.Workflow.StepJob(history.StepJobID(r.RunID, s.ID, s.Attempt)), true).Told > f.Workflow.Unix(end.At) {
			return true
		}
	}
	return false
}
