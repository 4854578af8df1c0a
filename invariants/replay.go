package invariants

import (
	"cmp"
	"fmt"
	"slices"
	"time"
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

// ReplayConfig are the settings of it that promises depend on.
type ReplayConfig struct {
	Enabled        bool            // the schedulers triage and replay
	Wanted         bool            // or a plan has a triage policy, and they should
	KeepKey        bool            // settings, each under its own name
	CheckCommitted bool            //
	CheckPolicy    bool            //
	Atomic         bool            //
	CarryCount     bool            //
	Triage         bool            //
	Rules          []ReplayRule    // of the triage policy; the first that matches counts
	MaxReplays     int             // where no rule says how many
	GrowthAlert    int             // more new entries than this within
	GrowthWindow   time.Duration   // this time are too many
	Kernel         bool            // a safety kernel decides, and no job runs without its decision
	Approved       map[string]bool // jobs whose replay somebody will approve
}

// ReplayRule is a rule of a triage policy.
type ReplayRule struct {
	ReasonCode string
	Action     string
	MaxReplays int // 0 is that of the settings
}

var (
	withReplayWorker = setting{"replay.enabled", func(c *Config) bool { return c.Replay.Enabled }}
	withAtomicReplay = setting{"replay.atomic", func(c *Config) bool { return c.Replay.Atomic }}
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
func (c *ReplayConfig) triage(l *letter) (action string, replays int) {
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
	return s.job.replay.of != "" && w.from == absent && s.job.state != absent
}

var replayKeepsIdempotencyKey = checking(Invariant{
	Name:   "replay-keeps-idempotency-key",
	Says:   "A replay has the idempotency key of the job that it replays.",
	Kind:   Always,
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
				judge(s.job)
			}
		},
		audited: func(*End) {
			f.audited(func(j *job) {
				if j.replay.of != "" {
					judge(j)
				}
			})
		},
	}
})

var replayHasFreshDecision = checking(Invariant{
	Name:   "replay-has-fresh-decision",
	Says:   "A replay is dispatched only once the safety kernel has decided on it, after its dead letter was written; unless the policy fails open.",
	Kind:   Always,
	Source: "Dead letters, next step 2: policy re-evaluation on every replay request",
}, func(f *facts, t *tally) checker {
	if !f.cfg.Replay.Kernel {
		return checker{}
	}
	return checker{stored: func(s *step, d *dispatch) {
		if s.job.replay.of == "" {
			return
		}
		t.exercise()
		l := f.source(s.job)
		switch asked := s.job.replay.decided; {
		case asked == 0:
			t.violated(s.job, "dispatch stored, %s seq %d on %s at step %d, although the safety kernel was never asked about it", streamJobs, d.seq, d.subject, d.step)
		case l != nil && asked <= l.written:
			t.violated(s.job, "dispatch stored, %s seq %d on %s at step %d, although the safety kernel was last asked about it at step %d, and its dead letter was written at step %d", streamJobs, d.seq, d.subject, d.step, asked, l.written)
		}
	}}
})

var oneReplayPerCount = checking(Invariant{
	Name:   "one-replay-per-count",
	Says:   "Of a job there is one first replay at most, one second, and so on.",
	Kind:   Always,
	Source: "Dead letters, the production problem: a replayed call is a second side effect",
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		if !created(s, w) {
			return
		}
		t.exercise()
		key := fmt.Sprintf("%s %d", s.job.replay.of, s.job.replay.count)
		if before := f.replay.counts[key]; before != "" && before != s.job.id {
			t.violated(s.job, "is replay %d of %s at step %d, but so is %s", s.job.replay.count, s.job.replay.of, s.Step, before)
		}
		f.replay.counts[key] = s.job.id
	}}
})

var maxReplaysHold = checking(Invariant{
	Name:   "max-replays-hold",
	Says:   "No job is replayed more often than the triage policy allows, its replays' own replays included.",
	Kind:   Always,
	Source: "Dead letters, triage policy: max_replays",
	Needs:  []string{"one-replay-per-count"},
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		if !created(s, w) {
			return
		}
		t.exercise()
		root := f.root(s.job)
		root.replay.replays++
		l := f.source(s.job)
		if l == nil {
			t.violated(s.job, "replays %s at step %d, of which there is no dead letter", s.job.replay.of, s.Step)
			return
		}
		if _, most := f.cfg.Replay.triage(l); root.replay.replays > most {
			t.violated(s.job, "is replay %d of %s at step %d; for reason_code %s there may be %d", root.replay.replays, root.id, s.Step, l.reasonCode, most)
		}
	}}
})

var noReplayOfCommitted = checking(Invariant{
	Name:   "no-replay-of-committed",
	Says:   "What has been done after all, by its idempotency key, is not replayed.",
	Kind:   Always,
	Source: "Dead letters, replay worker: AlreadyCommitted",
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		if !created(s, w) {
			return
		}
		t.exercise()
		if by := f.replay.committed[f.root(s.job).commitment()]; by != "" {
			t.violated(s.job, "replays %s at step %d, although %s has done what its idempotency key stands for", s.job.replay.of, s.Step, by)
		}
	}}
})

var noReplayAgainstTriage = checking(Invariant{
	Name:   "no-replay-against-triage",
	Says:   "Only what the triage policy has replayed by itself, or somebody has approved, is replayed.",
	Kind:   Always,
	Source: "Dead letters, failure triage model",
}, func(f *facts, t *tally) checker {
	return checker{wrote: func(s *step, w *write) {
		if !created(s, w) {
			return
		}
		t.exercise()
		l := f.source(s.job)
		if l == nil {
			t.violated(s.job, "replays %s at step %d, of which there is no dead letter", s.job.replay.of, s.Step)
			return
		}
		switch action, _ := f.cfg.Replay.triage(l); {
		case action == actAutoReplay:
		case action == actApproval && l.approvedBy != "":
		case action == actApproval:
			t.violated(s.job, "replays %s at step %d, which needs an approval for reason_code %s, and has none", s.job.replay.of, s.Step, l.reasonCode)
		default:
			t.violated(s.job, "replays %s at step %d, although the action for reason_code %s is %s", s.job.replay.of, s.Step, l.reasonCode, action)
		}
	}}
})

var deadLetterKeepsItsDecision = checking(Invariant{
	Name:   "dead-letter-keeps-its-decision",
	Says:   "What triage or a person has decided on a dead letter is not undone by a second entry of the same failure.",
	Kind:   Always,
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

var growthAlertTellsTheTruth = checking(Invariant{
	Name:   "growth-alert-tells-the-truth",
	Says:   "The growth alert is raised when more entries than replay.growth_alert have come within replay.growth_window, and not otherwise.",
	Kind:   Always,
	Source: "Dead letters, next step 3: alert on the growth rate",
}, func(f *facts, t *tally) checker {
	r := &f.replay
	r.looked = func(s *step, before *look) {
		t.exercise()
		if before.process == Process(s.Node, s.Incarnation) && before.sure && before.alert != r.alert && !before.tried {
			t.violated(nil, "%s saw %d new entries at step %d, more or less than %d, and left the alert as it was", before.process, before.fresh, before.step, f.cfg.Replay.GrowthAlert)
		}
	}
	r.alarmed = func(s *step) {
		if l := r.last[Process(s.Node, s.Incarnation)]; l.sure && l.alert != r.alert {
			t.violated(nil, "the growth alert was changed at step %d, although at step %d there were %d new entries, and more than %d are too many", s.Step, l.step, l.fresh, f.cfg.Replay.GrowthAlert)
		}
	}
	return checker{}
})

var autoReplayComesAbout = checking(Invariant{
	Name:   "auto-replay-comes-about",
	Says:   "Every dead letter that is replayed by itself is replayed, denied, found to be done, or exhausted in the end.",
	Kind:   Eventually,
	Source: "Dead letters, failure triage model: transient infrastructure",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *facts, t *tally) checker {
	if !f.cfg.Replay.Wanted {
		return checker{}
	}
	return checker{ended: func(*End) {
		for _, id := range f.replay.order {
			l := f.replay.letters[id]
			if action, _ := f.cfg.Replay.triage(l); l.lost(f.at) || action != actAutoReplay {
				continue
			}
			t.exercise()
			if !slices.Contains([]string{"replayed", "denied", "already_committed", "exhausted"}, l.replayStatus) {
				t.violated(f.job(id), "its dead letter, with reason_code %s, is still %s", l.reasonCode, l.replayStatus)
			}
		}
	}}
})
