package replay

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var oneEffectPerKey = rule.New(invariants.Invariant{
	Name:   "one-effect-per-key",
	Says:   "The effect of a tenant's idempotency key happens in the outside system at most once, over all dispatches, retries, replays and compensations.",
	Kind:   invariants.Always,
	Source: "Dead letters, the production problem: a replayed tool call can create a second ticket",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Effect: func(s *model.Step) {
		if s.Name != "finish" || history.AnswerOf(s.Event) == history.Declined {
			return
		}
		t.Exercise()
		if key, first, again := f.Repeated(s); again {
			by := invariants.Clause{}
			if n := len(s.About.Dispatches); n > 1 {
				by = invariants.Say(" (the job had been dispatched %d times, the last time at step %d)", n, invariants.StepNo(s.About.Dispatches[n-1].Step))
			}
			t.Violation(s.About, "the effect of idempotency key %s happened again at step %d on %s%s; it had happened before for %s, on %s",
				key, invariants.StepNo(s.Step), s.Node, by, first.Job.ID, first.By)
		}
	}}
})

var oneUndoPerEffect = rule.New(invariants.Invariant{
	Name:   "one-undo-per-effect",
	Says:   "The effect of a tenant's idempotency key is undone at most as often as it has happened. The compensations of all jobs under that key count together.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 4: the idempotency key of a compensation; Dead letters, replay worker: a replay keeps its original's",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Effect: func(s *model.Step) {
		key, undone, had := f.Undone(s)
		if key == "" || s.Name != "finish" || history.AnswerOf(s.Event) == history.Declined {
			return
		}
		t.Exercise()
		if undone > had {
			t.Violation(s.About, "undid the effect of idempotency key %s at step %d on %s, for the %s time; it had happened %s",
				key, invariants.StepNo(s.Step), s.Node, invariants.Ordinal(undone), invariants.CountOf(had, "time", "times"))
		}
	}}
})

var noReplayOfWhatTheLedgerHas = rule.New(invariants.Invariant{
	Name:   "no-replay-of-what-the-ledger-has",
	Says:   "A scheduler does not replay a dead letter if the outside system's ledger had its effect when a scheduler last asked it. If no scheduler asked it, the ledger must not have the effect by the time of the replay.",
	Kind:   invariants.Always,
	Source: "Dead letters, failure triage model: run compensating read/check first",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: eachReplay(t, func(s *model.Step) {
		if at, had := f.HadBefore(s.About); had {
			t.Violation(s.About, "replays %s at step %d, although the effect of its idempotency key was had at step %d, and the ledger was not asked since", s.About.Replay.Of, invariants.StepNo(s.Step), invariants.StepNo(at))
		}
	})}
})

var policyMismatchIsRaised = rule.New(invariants.Invariant{
	Name:   "policy-mismatch-is-raised",
	Says:   "If another policy decides on a replay than on its original, the dead letter says so. It then waits for an approval under the new policy, unless its failure is transient or a rule says otherwise.",
	Kind:   invariants.Always,
	Source: "Dead letters, failure triage model: policy_snapshot_mismatch",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	differs := func(j *model.Job, l *model.Letter) bool {
		return l != nil && l.Policy != "" && j.Replay.Policy != "" && l.Policy != j.Replay.Policy
	}
	return observe.Checker{
		Wrote: eachReplay(t, func(s *model.Step) {
			if l := f.Source(s.About); differs(s.About, l) && l.Raised != s.About.Replay.Policy && onMismatch(&f.Config.Replay, l, s.About.Replay.Policy) != actAutoReplay {
				t.Violation(s.About, "replays %s at step %d, whose reason_code is %s and on which another policy decides, and its dead letter did not wait for that", s.About.Replay.Of, invariants.StepNo(s.Step), l.ReasonCode)
			}
		}),
		Ended: func(*invariants.End) {
			for _, id := range f.Replay.Order {
				if f.Replay.Letters[id].Raised != "" && !f.PolicyChanged(f.Job(id)) {
					t.Violation(f.Job(id), "its dead letter waits because another policy decides on its replay, and none does")
				}
			}
			for _, j := range f.Order {
				if l := f.Source(j); j.Replay.Of != "" && j.Accepted && differs(j, l) && l.ReplayStatus == "replayed" && !l.Mismatch {
					t.Violation(j, "is decided on by another policy than %s, which it replays, and its dead letter does not say so", j.Replay.Of)
				}
			}
		},
	}
})

// onMismatch is what is to happen to a dead letter on whose replay another policy decides.
func onMismatch(c *config.ReplayConfig, l *model.Letter, policy string) string {
	if !c.Triage {
		return actAutoReplay
	}
	raised := *l
	raised.Raised = policy
	action, _ := triage(c, &raised)
	return action
}
