package judge

import (
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var everyIntentIsPublished = rule.New(invariants.Invariant{
	Name:   "every-intent-is-published",
	Says:   "After a DISPATCHED write, the stream stores a dispatch, or a rollback follows, or the job is cancelled or fails first. A timeout of the dispatch does not count as such an end.",
	Kind:   invariants.Eventually,
	Source: "Dispatch ordering, residual risk window: DISPATCHED to nobody",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if f.Config.DispatchOrder == "publish-first" {
		return observe.Checker{} // the other order: the intent follows
	}
	return observe.Checker{
		Audited: func(*invariants.End) { auditIntents(f, t) },
		Wrote: func(s *model.Step, w *model.Write) {
			j := s.About
			if j.State == model.Dispatched {
				t.Exercise()
			}
			if i := &w.Intent; j.State == model.TimedOut && s.Phase != "result_write" && i.Step != 0 && !i.Stored && !pastDeadline(f, j) {
				t.Violation(j, "TIMEOUT was written at step %d, and %s", invariants.StepNo(s.Step), unpublished(i))
			}
		},
		Ended: func(*invariants.End) {
			for _, j := range f.Order {
				if i := &j.Intent; i.Step != 0 && !i.Stored && j.State.InFlight() {
					t.Violation(j, "%s", unpublished(i))
				}
			}
		},
	}
})

var intentIsSafeBeforeDispatch = rule.New(invariants.Invariant{
	Name:   "intent-is-safe-before-dispatch",
	Says:   "With wait_replica, and the intent written first, a scheduler that knows of a replica of Redis publishes a dispatch only after Redis has confirmed, in that handling, that a replica has what was written for it. This includes a dispatch that another handling has intended.",
	Kind:   invariants.Always,
	Source: "the hardened dispatch: after a failover nobody would know of one whose intent is lost",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.WaitReplica || f.Config.DispatchOrder != "state-first" {
		return observe.Checker{}
	}
	return observe.Checker{Sent: func(s *model.Step) {
		h, n := s.Handling, f.Node(s.Node)
		if h == nil || n.Waits == 0 || n.Waits > h.Lock || s.About.HandlesTwice(s.Event) || s.About.Mixed {
			return
		}
		t.Exercise()
		if !h.Safe {
			t.Violation(s.About, "%s published to %s at step %d, and was not told that a replica of Redis has what was written for that", invariants.Who(s.Event), s.Target, invariants.StepNo(s.Step))
		}
	}}
})

var recordNamesItsWorker = rule.New(invariants.Invariant{
	Name:   "record-names-its-worker",
	Says:   "The record of a DISPATCHED job names the worker of the dispatch, unless the dispatch goes to a topic. After a rollback the record names no worker.",
	Kind:   invariants.Always,
	Source: "Dispatch ordering, publish failure recovery; the record says whom a cancellation concerns",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, _ *model.Write) {
		j := s.About
		switch {
		case j.State == model.Dispatched && !f.Config.FanOut:
			t.Exercise()
			if j.Worker == "" {
				t.Violation(j, "%s wrote DISPATCHED at step %d, and the record names no worker", invariants.Who(s.Event), invariants.StepNo(s.Step))
			}
		case j.State == model.Scheduled && s.Phase == "rollback_write":
			t.Exercise()
			if j.Worker != "" {
				t.Violation(j, "%s took its dispatch back at step %d, and the record still names %s", invariants.Who(s.Event), invariants.StepNo(s.Step), j.Worker)
			}
		}
	}}
})

// unpublished says that no dispatch of the intent was given to its worker.
func unpublished(i *model.Intent) invariants.Clause {
	write := invariants.Say("the DISPATCHED write at step %d (to %s)", invariants.StepNo(i.Step), i.Worker)
	if i.Lost {
		return invariants.Say("the dispatch that was stored for %s was lost", write)
	}
	return invariants.Say("no dispatch was ever stored for %s", write)
}

var noDispatchAfterEnd = rule.New(invariants.Invariant{
	Name:   "no-dispatch-after-end",
	Says:   "The stream stores no dispatch of a job that is over, nor of an intent whose place in the stream is already taken.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, terminal states; cancellation between DISPATCHED and the publish",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Stored: func(s *model.Step, d *model.Dispatch) {
		if f.Config.Epochs && d.Worker == "" {
			return // the subject of a topic cannot hold a void in place of a dispatch
		}
		t.Exercise()
		if s.About.State.Terminal() {
			void := invariants.Clause{}
			if n := len(s.About.Voids); n > 0 {
				void = invariants.Say("; the last void, at step %d, took the place of epoch %d", invariants.StepNo(s.About.Voids[n-1].Step), s.About.Voids[n-1].Epoch)
			}
			t.Violation(s.About, "dispatch stored, %s seq %d on %s at step %d, although the job was %s since step %d%s",
				history.StreamJobs, d.Seq, d.Subject, invariants.StepNo(d.Step), s.About.State, invariants.StepNo(s.About.StateAt), void)
		}
		if i := slices.IndexFunc(s.About.Voids, func(v model.Void) bool { return v.Epoch == d.Epoch }); i >= 0 {
			t.Violation(s.About, "dispatch stored, %s seq %d on %s at step %d, although a void had taken the place of epoch %d at step %d",
				history.StreamJobs, d.Seq, d.Subject, invariants.StepNo(d.Step), d.Epoch, invariants.StepNo(s.About.Voids[i].Step))
		}
	}}
})

var epochsNeverDecrease = rule.New(invariants.Invariant{
	Name:   "epochs-never-decrease",
	Says:   "The epoch of a record never decreases. Each state write increments the version of the record by one.",
	Kind:   invariants.Always,
	Source: "the hardened dispatch: an epoch is minted with each intent, a version with each state write",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	audited := func(*invariants.End) { auditEpochs(f, t) }
	if f.Config.DispatchOrder == "publish-first" {
		audited = nil // an epoch is published before it is minted
	}
	return observe.Checker{Audited: audited, Wrote: func(s *model.Step, w *model.Write) {
		j := s.About
		if j.Epoch == 0 && j.Version == 0 && w.Epoch == 0 && w.Version == 0 {
			return
		}
		t.Exercise()
		switch {
		case j.Epoch < w.Epoch:
			t.Violation(j, "the epoch went from %d to %d with the write of %s at step %d (%s)", w.Epoch, j.Epoch, j.State, invariants.StepNo(s.Step), s.Phase)
		case j.Version != w.Version+1 && (j.Version != 0 || w.Version != 0): // not every record has a version
			t.Violation(j, "the version went from %d to %d with the write of %s at step %d (%s)", w.Version, j.Version, j.State, invariants.StepNo(s.Step), s.Phase)
		}
	}}
})
