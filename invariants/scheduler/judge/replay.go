package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"

	"github.com/wavetank-sim/wavetank/invariants"
)

// What holds of dead-letter triage and replay (Dead letters).
var replayInvariants = []rule{
	replayKeepsIdempotencyKey, replayHasFreshDecision, oneReplayPerCount, maxReplaysHold, noReplayOfCommitted, noReplayAgainstTriage, deadLetterKeepsItsDecision,
	growthAlertTellsTheTruth, autoReplayComesAbout,
}

var replaySituations = []rule{
	situation(lettersThat("replayed"), "dead-letter-replayed", "A dead letter is replayed.", "Dead letters, replay worker"),
	situation(lettersThat("denied"), "replay-denied", "The replay of a dead letter is denied.", "Dead letters, next step 4: rehearse a replay that is denied by policy"),
	situation(lettersThat("already_committed"), "dead-letter-already-committed", "What a dead letter is about turns out to have been done.", "Dead letters, AlreadyCommitted"),
	situation(lettersThat("exhausted"), "replays-exhausted", "A job has been replayed as often as it may be.", "Dead letters, max_replays"),
	situation(lettersThat("awaiting_approval"), "replay-awaits-approval", "The replay of a dead letter waits for somebody to approve it.", "Dead letters, require_approval"),
	situation(lettersThat("quarantined"), "dead-letter-quarantined", "A dead letter is quarantined.", "Dead letters, poison payload"),
	situation(func(f *facts) int { return f.replay.reached["alert"] }, "dlq-growth-alert", "The dead-letter queue grows too fast, and the alert is raised.", "Dead letters, next step 3"),
}

// lettersThat counts how often dead letters came to a replay status.
func lettersThat(status string) func(*facts) int {
	return func(f *facts) int { return f.replay.reached[status] }
}

var (
	withReplayWorker = provided("replay.enabled", func(c *config.Config) bool { return c.Replay.Enabled })
	withAtomicReplay = provided("replay.atomic", func(c *config.Config) bool { return c.Replay.Atomic })
)

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

// triage is what is to become of a dead letter, and how often its job may be replayed.
func triage(c *config.ReplayConfig, l *letter) (action string, replays int) {
	if l.status == "TERMINATED" {
		return actQuarantine, 0
	}
	if l.step {
		return actManual, c.MaxReplays
	}
	codes := []string{l.reasonCode}
	if l.reasonCode == "safety_denied" {
		codes = append(codes, "denied") // which is what Dead letters calls it
	}
	for _, code := range codes {
		for _, r := range c.Rules {
			if r.ReasonCode == code {
				return r.Action, cmp.Or(r.MaxReplays, c.MaxReplays)
			}
		}
	}
	if l.fatal {
		return actManual, c.MaxReplays
	}
	if action = replayDefaults[l.reasonCode]; action == "" {
		action = actManual
	}
	return action, c.MaxReplays
}

// created says whether a step creates the record of a replay.
func created(s *step, w *write) bool {
	return s.about.replay.of != "" && w.from == absent && s.about.state != absent
}

var replayKeepsIdempotencyKey = checking(invariants.Invariant{
	Name:   "replay-keeps-idempotency-key",
	Says:   "A replay has the idempotency key of the job that it replays.",
	Kind:   invariants.Always,
	Source: "Dead letters, preserve the idempotency key to avoid duplicate side effects",
}, func(f *facts, t *tally) checker {
	judge := func(j *job) {
		t.exercise()
		if original := f.job(j.replay.of); j.replay.key != original.replay.key && original.accepted {
			t.violated(j, "has the idempotency key %q, but %s, which it replays, has %q", j.replay.key, original.id, original.replay.key)
		}
	}
	return checker{
		wrote: func(s *step, w *write) {
			if created(s, w) {
				judge(s.about)
			}
		},
		audited: func(*invariants.End) {
			withRecord(f, func(j *job) {
				if j.replay.of != "" {
					judge(j)
				}
			})
		},
	}
})

var replayHasFreshDecision = checking(invariants.Invariant{
	Name:   "replay-has-fresh-decision",
	Says:   "A replay is dispatched only once the safety kernel has decided on it, after its dead letter was written; unless the policy fails open.",
	Kind:   invariants.Always,
	Source: "Dead letters, next step 2: policy re-evaluation on every replay request",
}, func(f *facts, t *tally) checker {
	if !f.config.Replay.Kernel {
		return checker{}
	}
	return checker{stored: func(s *step, d *dispatch) {
		if s.about.replay.of == "" {
			return
		}
		t.exercise()
		l := f.source(s.about)
		switch asked := s.about.replay.decided; {
		case asked == 0:
			t.violated(s.about, "dispatch stored, %s seq %d on %s at step %d, although the safety kernel was never asked about it", history.StreamJobs, d.seq, d.subject, d.step)
		case l != nil && asked <= l.written:
			t.violated(s.about, "dispatch stored, %s seq %d on %s at step %d, although the safety kernel was last asked about it at step %d, and its dead letter was written at step %d", history.StreamJobs, d.seq, d.subject, d.step, asked, l.written)
		}
	}}
})

var oneReplayPerCount = checking(invariants.Invariant{
	Name:   "one-replay-per-count",
	Says:   "Of a job there is one first replay at most, one second, and so on.",
	Kind:   invariants.Always,
	Source: "Dead letters, the production problem: a replayed call is a second side effect",
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		if !created(s, w) {
			return
		}
		t.exercise()
		key := fmt.Sprintf("%s %d", s.about.replay.of, s.about.replay.count)
		if before := f.replay.counts[key]; before != "" && before != s.about.id {
			t.violated(s.about, "is replay %d of %s at step %d, but so is %s", s.about.replay.count, s.about.replay.of, s.Step, before)
		}
		f.replay.counts[key] = s.about.id
	}}
})

var maxReplaysHold = checking(invariants.Invariant{
	Name:   "max-replays-hold",
	Says:   "No job is replayed more often than the triage policy allows, its replays' own replays included.",
	Kind:   invariants.Always,
	Source: "Dead letters, triage policy: max_replays",
	Needs:  []string{"one-replay-per-count"},
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		if !created(s, w) {
			return
		}
		t.exercise()
		root := f.root(s.about)
		root.replay.replays++
		l := f.source(s.about)
		if l == nil {
			t.violated(s.about, "replays %s at step %d, of which there is no dead letter", s.about.replay.of, s.Step)
			return
		}
		if _, most := triage(&f.config.Replay, l); root.replay.replays > most {
			t.violated(s.about, "is replay %d of %s at step %d; for reason_code %s there may be %d", root.replay.replays, root.id, s.Step, l.reasonCode, most)
		}
	}}
})

var noReplayOfCommitted = checking(invariants.Invariant{
	Name:   "no-replay-of-committed",
	Says:   "What has been done after all, by its idempotency key, is not replayed.",
	Kind:   invariants.Always,
	Source: "Dead letters, replay worker: AlreadyCommitted",
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		if !created(s, w) {
			return
		}
		t.exercise()
		if by := f.replay.committed[f.root(s.about).commitment()]; by != "" {
			t.violated(s.about, "replays %s at step %d, although %s has done what its idempotency key stands for", s.about.replay.of, s.Step, by)
		}
	}}
})

var noReplayAgainstTriage = checking(invariants.Invariant{
	Name:   "no-replay-against-triage",
	Says:   "Only what the triage policy has replayed by itself, or somebody has approved, is replayed.",
	Kind:   invariants.Always,
	Source: "Dead letters, failure triage model",
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		if !created(s, w) {
			return
		}
		t.exercise()
		l := f.source(s.about)
		if l == nil {
			t.violated(s.about, "replays %s at step %d, of which there is no dead letter", s.about.replay.of, s.Step)
			return
		}
		switch action, _ := triage(&f.config.Replay, l); {
		case action == actAutoReplay:
		case action == actApproval && l.approvedBy != "":
		case action == actApproval:
			t.violated(s.about, "replays %s at step %d, which needs an approval for reason_code %s, and has none", s.about.replay.of, s.Step, l.reasonCode)
		default:
			t.violated(s.about, "replays %s at step %d, although the action for reason_code %s is %s", s.about.replay.of, s.Step, l.reasonCode, action)
		}
	}}
})

var deadLetterKeepsItsDecision = checking(invariants.Invariant{
	Name:   "dead-letter-keeps-its-decision",
	Says:   "What triage or a person has decided on a dead letter is not undone by a second entry of the same failure.",
	Kind:   invariants.Always,
	Source: "Dead letters, failure triage model; Scheduler internals, section 9: a message whose end is lost comes again",
}, func(f *facts, t *tally) checker {
	f.replay.rewritten = func(s *step, id string, was, is *letter) {
		if !was.decided() || was.lost(s.At) {
			return
		}
		t.exercise()
		if !is.decided() && is.status == was.status && is.reasonCode == was.reasonCode {
			t.violated(f.job(id), "its dead letter was %s, and was written anew at step %d, with reason_code %s as before", was.replayStatus, s.Step, is.reasonCode)
		}
	}
	return checker{}
})

var growthAlertTellsTheTruth = checking(invariants.Invariant{
	Name:   "growth-alert-tells-the-truth",
	Says:   "The growth alert is raised when more entries than replay.growth_alert have come within replay.growth_window, and not otherwise.",
	Kind:   invariants.Always,
	Source: "Dead letters, next step 3: alert on the growth rate",
}, func(f *facts, t *tally) checker {
	r := &f.replay
	r.looked = func(s *step, before *look) {
		t.exercise()
		if before.process == invariants.Process(s.Node, s.Incarnation) && before.sure && before.alert != r.alert && !before.tried {
			t.violated(nil, "%s saw %d new entries at step %d, more or less than %d, and left the alert as it was", before.process, before.fresh, before.step, f.config.Replay.GrowthAlert)
		}
	}
	r.alarmed = func(s *step) {
		if l := r.last[invariants.Process(s.Node, s.Incarnation)]; l.sure && l.alert != r.alert {
			t.violated(nil, "the growth alert was changed at step %d, although at step %d there were %d new entries, and more than %d are too many", s.Step, l.step, l.fresh, f.config.Replay.GrowthAlert)
		}
	}
	return checker{}
})

var autoReplayComesAbout = checking(invariants.Invariant{
	Name:   "auto-replay-comes-about",
	Says:   "Every dead letter that is replayed by itself is replayed, denied, found to be done, or exhausted in the end.",
	Kind:   invariants.Eventually,
	Source: "Dead letters, failure triage model: transient infrastructure",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *facts, t *tally) checker {
	if !f.config.Replay.Wanted {
		return checker{}
	}
	return checker{ended: func(*invariants.End) {
		for _, id := range f.replay.order {
			l := f.replay.letters[id]
			if action, _ := triage(&f.config.Replay, l); l.lost(f.at) || action != actAutoReplay {
				continue
			}
			t.exercise()
			if !slices.Contains([]string{"replayed", "denied", "already_committed", "exhausted"}, l.replayStatus) {
				t.violated(f.job(id), "its dead letter, with reason_code %s, is still %s", l.reasonCode, l.replayStatus)
			}
		}
	}}
})
