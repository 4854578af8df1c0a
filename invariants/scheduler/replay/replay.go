package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/sim"
)

// What holds for dead-letter triage and replay (Dead letters).
var Invariants = []rule.Rule{
	replayKeepsIdempotencyKey, replayHasFreshDecision, oneReplayPerCount, maxReplaysHold, noReplayOfCommitted, noReplayAgainstTriage, deadLetterIsWhereTriageLeavesIt, deadLetterKeepsItsDecision,
	growthAlertTellsTheTruth, autoReplayComesAbout, oneEffectPerKey, oneUndoPerEffect, decisionIsTaken, refusalIsAudited, policyMismatchIsRaised, noReplayOfWhatTheLedgerHas, replayWaitsItsBackoff, deadLettersTakeTurns, deadLetterIsDoneWith, everyReplayDecisionIsAudited, deadLetterTellsItsDecision, deadLetterNamesItsReplay,
}

var Situations = []rule.Rule{
	rule.Situation(lettersThat("replayed"), "dead-letter-replayed", "A dead letter is replayed.", "Dead letters, replay worker"),
	rule.Situation(lettersThat("denied"), "replay-denied", "The replay of a dead letter is denied.", "Dead letters, next step 4: rehearse a replay that is denied by policy"),
	rule.Situation(lettersThat("already_committed"), "dead-letter-already-committed", "The effect of a dead letter's job turns out to be done already.", "Dead letters, AlreadyCommitted"),
	rule.Situation(lettersThat("exhausted"), "replays-exhausted", "A job has used up its replays.", "Dead letters, max_replays"),
	rule.Situation(lettersThat("awaiting_approval"), "replay-awaits-approval", "The replay of a dead letter waits for an approval.", "Dead letters, require_approval"),
	rule.Situation(lettersThat("refused"), "replay-refused", "A person who is not of the right group wants to approve a replay, or to mend a dead letter.", "Dead letters, triage policy: approver_group and owner"),
	rule.Situation(lettersThat("quarantined"), "dead-letter-quarantined", "A dead letter is quarantined.", "Dead letters, poison payload"),
	rule.Situation(func(f *model.Facts) int { return f.Replay.Reached["alert"] }, "dlq-growth-alert", "The dead-letter queue grows too fast, and a scheduler raises the alert.", "Dead letters, next step 3"),
}

// lettersThat counts how often dead letters came to a replay status.
func lettersThat(status string) func(*model.Facts) int {
	return func(f *model.Facts) int { return f.Replay.Reached[status] }
}

// The actions of Dead letters, and the classes of reason codes with their defaults.
const (
	actAutoReplay = "auto_replay"
	actQuarantine = "quarantine"
	actApproval   = "require_approval"
	actManual     = "manual_review"
)

var replayDefaults = map[string]string{
	"timeout": actAutoReplay, "dependency_unavailable": actAutoReplay, "no_workers": actAutoReplay, "max_scheduling_retries": actAutoReplay,
	"pool_overloaded": actAutoReplay, "stale_worker": actAutoReplay, "tenant_limit": actAutoReplay,
	"schema_invalid": actQuarantine, "parse_error": actQuarantine, "tool_contract_mismatch": actQuarantine, "no_pool_mapping": actQuarantine,
	"saga_unmarshal_failed": actQuarantine,
	"denied":                actApproval, "approval_required": actApproval, "policy_snapshot_mismatch": actApproval, "safety_denied": actApproval,
	"partial_external_write": actManual, "unknown_commit_state": actManual, "dispatch_failed": actManual,
	"output_quarantined": actManual, "output_denied": actManual,
}

// CodeLabel is a reason code as a counter has it: a code that is in no class is "other".
func CodeLabel(code string) string {
	if _, known := replayDefaults[code]; !known {
		return "other"
	}
	return code
}

// triage returns what is to happen to a dead letter, and how often its job may be replayed.
func triage(c *config.ReplayConfig, l *model.Letter) (action string, replays int) {
	switch {
	case l.Status == "TERMINATED":
		return actQuarantine, 0
	case l.Step:
		return actManual, c.MaxReplays
	case l.Raised == "":
		return triageFailure(c, l)
	}
	if r := ruleOf(c, l, codeMismatch); r != nil {
		return r.Action, cmp.Or(r.MaxReplays, c.MaxReplays)
	}
	of, replays := triageFailure(c, l)
	if of == actAutoReplay && replayDefaults[l.ReasonCode] == actAutoReplay {
		return actAutoReplay, replays
	}
	return actApproval, replays
}

// triageFailure returns what a letter's failure calls for.
func triageFailure(c *config.ReplayConfig, l *model.Letter) (action string, replays int) {
	if r := ruleOf(c, l, l.ReasonCode); r != nil {
		return r.Action, cmp.Or(r.MaxReplays, c.MaxReplays)
	}
	if action = replayDefaults[l.ReasonCode]; l.Fatal || action == "" {
		action = actManual
	}
	return action, c.MaxReplays
}

// ruleOf returns the triage policy's rule for a dead letter, taken as one with that reason code; nil if there
// is none.
func ruleOf(c *config.ReplayConfig, l *model.Letter, code string) *config.ReplayRule {
	codes := []string{code}
	if code == "safety_denied" {
		codes = append(codes, "denied") // the name in Dead letters
	}
	for _, code := range codes {
		for i := range c.Rules {
			if r := &c.Rules[i]; r.ReasonCode == code && (r.LastCause == "" || r.LastCause == l.LastCause) {
				return r
			}
		}
	}
	return nil
}

// governs is the code that triage uses.
func governs(l *model.Letter) string {
	if l.Raised != "" {
		return codeMismatch
	}
	return l.ReasonCode
}

const codeMismatch = "policy_snapshot_mismatch"

// eachReplay judges the steps that create the record of a replay.
func eachReplay(t *rule.Tally, judge func(s *model.Step)) func(*model.Step, *model.Write) {
	return func(s *model.Step, w *model.Write) {
		if s.About.Replay.Of != "" && w.From == model.Absent && s.About.State != model.Absent {
			t.Exercise()
			judge(s)
		}
	}
}

var replayKeepsIdempotencyKey = rule.New(invariants.Invariant{
	Name:   "replay-keeps-idempotency-key",
	Says:   "A replay has the idempotency key of the job that it replays.",
	Kind:   invariants.Always,
	Source: "Dead letters, preserve the idempotency key to avoid duplicate side effects",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	judge := func(j *model.Job) {
		if original := f.Job(j.Replay.Of); j.Replay.Key != original.Replay.Key && original.Accepted {
			t.Violation(j, "has the idempotency key %q, but %s, which it replays, has %q", j.Replay.Key, original.ID, original.Replay.Key)
		}
	}
	return observe.Checker{
		Wrote: eachReplay(t, func(s *model.Step) { judge(s.About) }),
		Audited: func(*invariants.End) {
			rule.WithRecord(f, func(j *model.Job) {
				if j.Replay.Of != "" {
					t.Exercise()
					judge(j)
				}
			})
		},
	}
})

var replayHasFreshDecision = rule.New(invariants.Invariant{
	Name:   "replay-has-fresh-decision",
	Says:   "A scheduler submits a replay only if the safety kernel has decided on it since the scheduler last looked at the dead letter. It dispatches the replay only if the kernel has decided on it since the dead letter was last written. Neither is required if the policy fails open.",
	Kind:   invariants.Always,
	Source: "Dead letters, next step 2: policy re-evaluation on every replay request",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Replay.Kernel {
		return observe.Checker{}
	}
	return observe.Checker{Wrote: eachReplay(t, func(s *model.Step) {
		if !strings.HasPrefix(s.Node, history.SchedulerNodes) || s.Kind == sim.KindLate {
			return
		}
		switch asked, seen := s.About.Replay.Decided, f.LetterSeen(s, f.ReplayedBy(s.About)); {
		case asked == 0:
			t.Violation(s.About, "replays %s at step %d, although the safety kernel was never asked about it", s.About.Replay.Of, invariants.StepNo(s.Step))
		case asked <= seen:
			t.Violation(s.About, "replays %s at step %d, although the safety kernel was last asked about it at step %d, and %s has looked at the dead letter anew at step %d", s.About.Replay.Of, invariants.StepNo(s.Step), invariants.StepNo(asked), s.Node, invariants.StepNo(seen))
		}
	}), Stored: func(s *model.Step, d *model.Dispatch) {
		if s.About.Replay.Of == "" {
			return
		}
		t.Exercise()
		l := f.Source(s.About)
		switch asked := s.About.Replay.Decided; {
		case asked == 0:
			t.Violation(s.About, "dispatch stored, %s seq %d on %s at step %d, although the safety kernel was never asked about it", history.StreamJobs, d.Seq, d.Subject, invariants.StepNo(d.Step))
		case l != nil && asked <= l.Written:
			t.Violation(s.About, "dispatch stored, %s seq %d on %s at step %d, although the safety kernel was last asked about it at step %d, and its dead letter was written at step %d", history.StreamJobs, d.Seq, d.Subject, invariants.StepNo(d.Step), invariants.StepNo(asked), invariants.StepNo(l.Written))
		}
	}}
})

var oneReplayPerCount = rule.New(invariants.Invariant{
	Name:   "one-replay-per-count",
	Says:   "A job has at most one first replay, at most one second replay, and so on.",
	Kind:   invariants.Always,
	Source: "Dead letters, the production problem: a replayed call is a second side effect",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: eachReplay(t, func(s *model.Step) {
		key := fmt.Sprintf("%s %d", s.About.Replay.Of, s.About.Replay.Count)
		if before := f.Replay.Counts[key]; before != "" && before != s.About.ID {
			t.Violation(s.About, "is replay %d of %s at step %d, but so is %s", s.About.Replay.Count, s.About.Replay.Of, invariants.StepNo(s.Step), before)
		}
		f.NoteReplay(key, s.About.ID)
	})}
})

var maxReplaysHold = rule.New(invariants.Invariant{
	Name:   "max-replays-hold",
	Says:   "A job is replayed at most as often as the triage policy allows. Replays of its replays count.",
	Kind:   invariants.Always,
	Source: "Dead letters, triage policy: max_replays",
	Needs:  []string{"one-replay-per-count"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: eachReplay(t, func(s *model.Step) {
		root := f.Root(s.About)
		if !s.About.Replay.Counted {
			s.About.Replay.Counted = true
			root.Replay.Replays++
		}
		l := f.Source(s.About)
		if l == nil {
			t.Violation(s.About, "replays %s at step %d, of which there is no dead letter", s.About.Replay.Of, invariants.StepNo(s.Step))
			return
		}
		if _, most := triage(&f.Config.Replay, l); root.Replay.Replays > most {
			t.Violation(s.About, "is replay %d of %s at step %d; for reason_code %s there may be %d", root.Replay.Replays, root.ID, invariants.StepNo(s.Step), l.ReasonCode, most)
		}
	})}
})

var noReplayOfCommitted = rule.New(invariants.Invariant{
	Name:   "no-replay-of-committed",
	Says:   "A scheduler does not replay a dead letter if the effect of the job's idempotency key is committed. It is committed once a scheduler has taken in a result that says so, even if the job was over by then. The note of it lasts for dlq_entry_ttl, as a dead letter does.",
	Kind:   invariants.Always,
	Source: "Dead letters, replay worker: AlreadyCommitted",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{CommitNoted: func(s *model.Step, l model.Lasting) {
		t.Exercise()
		if l.Amiss {
			t.Violation(s.About, "%s noted at step %d that its idempotency key is committed, to last for %s, and it should have %s", invariants.Who(s.Event), invariants.StepNo(s.Step), l.Is, l.Should)
		}
	}, Wrote: eachReplay(t, func(s *model.Step) {
		if by := f.Replay.Committed[f.Root(s.About).Commitment()]; by != "" {
			since := invariants.Clause{}
			if j := f.Jobs[by]; j != nil && j.State == model.Succeeded {
				since = invariants.Say(", SUCCEEDED since step %d,", invariants.StepNo(j.StateAt))
			}
			t.Violation(s.About, "replays %s at step %d, although %s%s has done what its idempotency key stands for", s.About.Replay.Of, invariants.StepNo(s.Step), by, since)
		}
	})}
})

var noReplayAgainstTriage = rule.New(invariants.Invariant{
	Name:   "no-replay-against-triage",
	Says:   "A scheduler replays a dead letter only if the triage policy replays it automatically, or if a person of the right group has approved, mended or asked for the replay. It does not replay a dead letter that a person has denied. A person who denies a replay is of the right group, too.",
	Kind:   invariants.Always,
	Source: "Dead letters, failure triage model",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{LetterRewritten: func(s *model.Step, id string, was, is *model.Letter) {
		if is.ReplayStatus == "denied" && was.ReplayStatus != "denied" && is.ApprovedBy != "" && outsider(&f.Config.Replay, id, is) {
			t.Violation(f.Job(id), "the replay of it was denied at step %d by somebody who is not of the group that the triage policy names for reason_code %s", invariants.StepNo(s.Step), governs(is))
		}
	}, Wrote: eachReplay(t, func(s *model.Step) {
		l := f.Source(s.About)
		if l == nil {
			t.Violation(s.About, "replays %s at step %d, of which there is no dead letter", s.About.Replay.Of, invariants.StepNo(s.Step))
			return
		}
		if r := s.About.Request; l.Payload != "" && r != nil && string(r.Payload) != l.Payload {
			t.Violation(s.About, "replays %s at step %d with the payload %s, which was mended to %s", s.About.Replay.Of, invariants.StepNo(s.Step), r.Payload, l.Payload)
		}
		switch action, _ := triage(&f.Config.Replay, l); {
		case l.ApprovedBy != "" && !l.Approved:
			t.Violation(s.About, "replays %s at step %d, the replay of which %s had denied", s.About.Replay.Of, invariants.StepNo(s.Step), l.ApprovedBy)
		case action == actAutoReplay:
		case l.ApprovedBy != "" && outsider(&f.Config.Replay, s.About.Replay.Of, l):
			t.Violation(s.About, "replays %s at step %d, on which somebody has decided who is not of the group that the triage policy names for reason_code %s", s.About.Replay.Of, invariants.StepNo(s.Step), governs(l))
		case (action == actApproval || action == actManual) && l.ApprovedBy != "":
		case action == actQuarantine && l.ApprovedBy != "" && l.Payload != "":
		case action == actApproval:
			t.Violation(s.About, "replays %s at step %d, which needs an approval for reason_code %s, and has none", s.About.Replay.Of, invariants.StepNo(s.Step), governs(l))
		default:
			t.Violation(s.About, "replays %s at step %d, although the action for reason_code %s is %s", s.About.Replay.Of, invariants.StepNo(s.Step), l.ReasonCode, action)
		}
	})}
})

// outsider says whether the person who decides on a job's replay is not in the group that must. A letter that
// is never replayed is for nobody.
func outsider(c *config.ReplayConfig, id string, l *model.Letter) bool {
	if !c.Triage || l.Step || l.Status == "TERMINATED" {
		return false
	}
	groups, known := c.Operators[id]
	r := personsRule(c, l)
	return known && r != nil && !of(groups, cmp.Or(r.Approvers, r.Owner))
}

// of says whether somebody of the groups may do what is for group; "" is for anybody.
func of(groups []string, group string) bool { return group == "" || slices.Contains(groups, group) }

// personsRule is the rule that says who decides on a letter; nil if there is none. A letter that was raised
// without a rule is for those who were to decide on the failure.
func personsRule(c *config.ReplayConfig, l *model.Letter) *config.ReplayRule {
	if r := ruleOf(c, l, governs(l)); r != nil {
		return r
	}
	return ruleOf(c, l, l.ReasonCode)
}

// ends are the replay statuses after which nothing happens to a dead letter.
var ends = []string{"replayed", "denied", "already_committed", "exhausted"}

var deadLetterKeepsItsDecision = rule.New(invariants.Invariant{
	Name:   "dead-letter-keeps-its-decision",
	Says:   "A second entry of the same failure does not undo what triage or a person has decided on a dead letter. A dead letter that is replayed, denied, already_committed or exhausted stays so.",
	Kind:   invariants.Always,
	Source: "Dead letters, failure triage model; Scheduler internals, section 9: a message whose end is lost comes again",
	Needs:  []string{"terminal-states-final"}, // a job that runs again may fail again
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{LetterRewritten: func(s *model.Step, id string, was, is *model.Letter) {
		if !was.Decided() || was.Lost(s.At) {
			return
		}
		t.Exercise()
		switch same := is.Status == was.Status && is.ReasonCode == was.ReasonCode; {
		case same && !is.Decided() && is.Raised == was.Raised:
			t.Violation(f.Job(id), "its dead letter was %s, and was written anew at step %d, with reason_code %s as before", was.ReplayStatus, invariants.StepNo(s.Step), is.ReasonCode)
		case same && slices.Contains(ends, was.ReplayStatus) && is.ReplayStatus != was.ReplayStatus:
			t.Violation(f.Job(id), "its dead letter was %s, and is %s from step %d on", was.ReplayStatus, is.ReplayStatus, invariants.StepNo(s.Step))
		}
	}}
})

var growthAlertTellsTheTruth = rule.New(invariants.Invariant{
	Name:   "growth-alert-tells-the-truth",
	Says:   "A tick raises the growth alert if it sees that more than replay.growth_alert entries have come within replay.growth_window. A tick that sees no more than that ends the alert. A tick whose write fails need not do so.",
	Kind:   invariants.Always,
	Source: "Dead letters, next step 3: alert on the growth rate",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	r := &f.Replay
	return observe.Checker{GrowthRead: func(s *model.Step, before *model.Look) {
		t.Exercise()
		if before.Process == invariants.Process(s.Node, s.Incarnation) && before.Sure && before.Alert != r.Alert && !before.Tried {
			t.Violation(nil, "%s saw %d new entries at step %d, more or less than %d, and left the alert as it was", before.Process, before.Fresh, invariants.StepNo(before.Step), f.Config.Replay.GrowthAlert)
		}
	}, GrowthAlarmed: func(s *model.Step) {
		if l := r.Last[invariants.Process(s.Node, s.Incarnation)]; l.Sure && l.Alert != r.Alert {
			t.Violation(nil, "the growth alert was changed at step %d, although at step %d there were %d new entries, and more than %d are too many", invariants.StepNo(s.Step), invariants.StepNo(l.Step), l.Fresh, f.Config.Replay.GrowthAlert)
		}
	}}
})

var autoReplayComesAbout = rule.New(invariants.Invariant{
	Name:   "auto-replay-comes-about",
	Says:   "A dead letter that is to be replayed automatically, or whose replay a person has allowed, is replayed, denied, already_committed or exhausted in the end. It need not be if the safety kernel throttles its replay to the end.",
	Kind:   invariants.Eventually,
	Source: "Dead letters, failure triage model: transient infrastructure",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Replay.Wanted {
		return observe.Checker{}
	}
	return observe.Checker{Ended: func(*invariants.End) {
		for _, id := range f.Replay.Order {
			l := f.Replay.Letters[id]
			action, most := triage(&f.Config.Replay, l)
			if l.Lost(f.At) || action != actAutoReplay && !l.Approved || !f.Indexed(id) { // nobody finds a letter that is not indexed
				continue
			}
			if !f.Config.Replay.Triage { // no rule says how many
				most = f.Config.Replay.MaxReplays
			}
			t.Exercise()
			if words := unfounded(f, f.Job(id), l.ReplayStatus, most); words != "" {
				t.Violation(f.Job(id), "its dead letter, with reason_code %s, is %s", l.ReasonCode, words)
			}
		}
	}}
})

// unfounded says why a dead letter is not over, by what happened and whatever its status says; "" if it is.
func unfounded(f *model.Facts, j *model.Job, status string, most int) string {
	had, replayed := f.ReplaysHad(j)
	switch status {
	case "replayed":
		if !replayed {
			return "replayed, although no job replays it"
		}
	case "denied":
		if !f.ReplayDenied(j) {
			return "denied, although neither the safety kernel nor a person has denied its replay"
		}
	case "already_committed":
		if !f.DoneAfterAll(j) {
			return "already_committed, although no worker has reported a success of it"
		}
	case "exhausted":
		if had < most {
			return fmt.Sprintf("exhausted, although %d of its %d replays have been had", had, most)
		}
	default:
		if status != "scheduled" || f.At >= f.Replay.Letters[j.ID].Due && !f.ReplayThrottled(j) {
			return "still " + status
		}
	}
	return ""
}
