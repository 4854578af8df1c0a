package replay

import (
	"cmp"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var deadLetterTellsItsDecision = rule.New(invariants.Invariant{
	Name:   "dead-letter-tells-its-decision",
	Says:   "After a decision, a dead letter names the scheduler that changed it, or no scheduler if a person changed it. It names the person who decided, until another policy decides on its replay. It has a time of replay only while a replay is due. If it is already_committed, it names who did the work. Triage writes the number of replays that the policy's rule allows, and the owner that the rule names. If a person denies a triaged letter, the letter says that a scheduler has still to count the denial.",
	Kind:   invariants.Always,
	Source: "Dead letters, DLQ triage policy, and next step 3: the replay-denial rate; the fields are the testbed's own",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{LetterDecided: func(s *model.Step, id string, was, is *model.Letter) {
		if !model.ChangesLetter(s) {
			return
		}
		t.Exercise()
		complain := func(format string, args ...any) {
			args = append([]any{invariants.Who(s.Event), invariants.StepNo(s.Step), is.ReplayStatus}, args...)
			t.Violation(f.Job(id), "%s changed its dead letter at step %d, which is %s now, "+format, args...)
		}
		by, decider := "", was.DecidedBy
		if model.TriagesLetters(s) {
			by = s.Node
		}
		events := f.Trail(s, id)
		denies := false
		switch {
		case is.Raised != was.Raised:
			decider = ""
		case by == "" && len(events) == 1 && (is.ReplayStatus == "scheduled" || is.ReplayStatus == "denied" && events[0].By != byKernel):
			decider, denies = events[0].By, is.ReplayStatus == "denied"
		}
		says := &is.Says
		if says.ChangedBy != by {
			complain("and says that %q has changed it", says.ChangedBy)
		}
		if says.DecidedBy != decider {
			complain("and says that %q has decided on it, which was %q", says.DecidedBy, decider)
		}
		if (says.NextReplayAt != 0) != (is.ReplayStatus == "scheduled") {
			complain("and is to be replayed at %d", says.NextReplayAt)
		}
		if says.Uncounted != (denies && was.Action != "") {
			complain("and says of the schedulers' count of its denial: uncounted is %t", says.Uncounted)
		}
		if is.ReplayStatus == "already_committed" && !namesDoer(f, f.Job(id), is) {
			complain("and does not say by whom: %q", is.Why)
		}
		if by == "" || !f.Config.Replay.Triage || is.Raised == was.Raised && (is.ReplayStatus != waits[is.Action] || was.ReplayStatus == "scheduled") {
			return // a person decided, or the outcome of its replay did
		}
		if r := noted(&f.Config.Replay, is); says.MaxReplays != r.MaxReplays || says.Owner != r.Owner || says.Approvers != r.Approvers {
			complain("with max_replays %d, owner %q and approver_group %q; the policy has %d, %q and %q", says.MaxReplays, says.Owner, says.Approvers, r.MaxReplays, r.Owner, r.Approvers)
		}
	}}
})

// byKernel is the author of denials of the safety kernel.
const byKernel = "safety-kernel"

// namesDoer says whether a letter names who has done its work: a job with the same idempotency key, or the ledger.
func namesDoer(f *model.Facts, j *model.Job, l *model.Letter) bool {
	return strings.Contains(l.Why, "ledger") || slices.ContainsFunc(f.Order, func(by *model.Job) bool {
		return by.Commitment() == j.Commitment() && strings.Contains(l.Why, by.ID)
	})
}

// noted returns what triage writes into a letter from the rule of the policy. If the policy has changed and must decide again, the
// owner, the approvers and the limit are those of the rule for the failure.
func noted(c *config.ReplayConfig, l *model.Letter) (r config.ReplayRule) {
	of := func(code string) (r config.ReplayRule, found bool) {
		if rule := ruleOf(c, l, code); rule != nil {
			return *rule, true
		}
		return config.ReplayRule{}, false
	}
	if l.Status == "TERMINATED" || l.Step {
		return r
	}
	failure, _ := of(l.ReasonCode)
	if l.Raised == "" {
		return failure
	}
	if r, found := of(codeMismatch); found {
		return r
	}
	if action, _ := triage(c, l); action == actApproval {
		failure.Approvers, failure.Owner = cmp.Or(failure.Approvers, failure.Owner), ""
	}
	return failure
}

// sameReason says whether an event has the reason of its letter. A person gives a reason in their own words; then the letter must name
// the person.
func sameReason(is *model.Letter, e *history.AuditEvent) bool {
	switch {
	case e.Kind == "dlq_mended", e.Kind == "dlq_replay_asked", e.Kind == decided["denied"] && e.By != byKernel:
		return strings.Contains(is.Why, e.By)
	case e.Kind == decided["replayed"]:
		return strings.Contains(e.Reason, is.ReplayJob) && strings.HasSuffix(e.Reason, is.Why)
	}
	return e.Reason == is.Why
}
