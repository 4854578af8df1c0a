package replay

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var everyReplayDecisionIsAudited = rule.New(invariants.Invariant{
	Name:   "every-replay-decision-is-audited",
	Says:   "Triage, a replay or a person decides on a dead letter. The write of each decision also adds exactly one event to the audit trail. The event has the kind of the decision, and names the replay worker, the safety kernel or the person as its author. It has the reason code and the reason of the letter. If a person decides in their own words, the letter names the person.",
	Kind:   invariants.Always,
	Source: "Dead letters: recover safely with an audit trail",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{LetterDecided: func(s *model.Step, id string, was, is *model.Letter) {
		t.Exercise()
		events := f.Trail(s, id)
		if len(events) != 1 {
			t.Violation(f.Job(id), "%s wrote its dead letter at step %d, which is %s now, and the audit trail has %s of it",
				invariants.Who(s.Event), invariants.StepNo(s.Step), is.ReplayStatus, invariants.CountOf(len(events), "event", "events"))
			return
		}
		worker := strings.HasPrefix(s.Node, history.SchedulerNodes)
		switch e := events[0]; {
		case !slices.Contains(kindsOf(was, is, worker), e.Kind):
			t.Violation(f.Job(id), "%s wrote its dead letter at step %d, which was %s and is %s now, and the audit trail calls that %s",
				invariants.Who(s.Event), invariants.StepNo(s.Step), was.ReplayStatus, is.ReplayStatus, e.Kind)
		case !decidedBy(is, e.By, worker):
			t.Violation(f.Job(id), "%s wrote its dead letter at step %d, which is %s now, and the audit trail says that %q has decided that",
				invariants.Who(s.Event), invariants.StepNo(s.Step), is.ReplayStatus, e.By)
		case e.ReasonCode != is.ReasonCode:
			t.Violation(f.Job(id), "%s wrote its dead letter at step %d, with reason_code %s, and the audit trail has the reason code %q of that",
				invariants.Who(s.Event), invariants.StepNo(s.Step), is.ReasonCode, e.ReasonCode)
		case !sameReason(is, e):
			t.Violation(f.Job(id), "%s wrote its dead letter at step %d, which is %s now, for the reason %q; the audit trail has %q of that, by %q",
				invariants.Who(s.Event), invariants.StepNo(s.Step), is.ReplayStatus, is.Why, e.Reason, e.By)
		}
	}}
})

// decided maps the new replay status to the kind of event.
var decided = map[string]string{
	"scheduled": "dlq_triaged", "pending_review": "dlq_triaged", "awaiting_approval": "dlq_triaged", "quarantined": "dlq_triaged",
	"replayed": "dlq_replayed", "denied": "dlq_replay_denied", "already_committed": "dlq_already_committed", "exhausted": "dlq_exhausted",
}

// kindsOf lists the kinds of event that may report a decision, of the replay worker or of a person.
func kindsOf(was, is *model.Letter, worker bool) []string {
	switch {
	case is.Raised != was.Raised:
		return []string{"dlq_policy_snapshot_mismatch"}
	case is.ReplayStatus != "scheduled" || worker:
		return []string{decided[is.ReplayStatus]}
	case is.Payload != was.Payload || was.ReplayStatus == "quarantined":
		return []string{"dlq_mended"}
	case was.ReplayStatus == "awaiting_approval":
		return []string{"dlq_replay_approved"}
	}
	return []string{"dlq_replay_asked", "dlq_replay_approved"} // nobody has triaged it, or a person is to decide
}

// decidedBy says whether by may have made the letter what it is now. If a person replays it at once, the
// safety kernel may deny that, and the replay worker may if no job can be made of it.
func decidedBy(is *model.Letter, by string, worker bool) bool {
	switch {
	case is.ReplayStatus == "denied":
		return by == byKernel || !worker && by == is.DecidedBy
	case worker:
		return by == "replay-worker"
	case is.ReplayStatus == "scheduled":
		return by == is.DecidedBy
	}
	return by != ""
}

var deadLetterNamesItsReplay = rule.New(invariants.Invariant{
	Name:   "dead-letter-names-its-replay",
	Says:   "A replayed dead letter names the job that replays it. The labels of that job name the original job and the number of the replay.",
	Kind:   invariants.Always,
	Source: "Dead letters, replay worker",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{LetterDecided: func(s *model.Step, id string, was, is *model.Letter) {
		if is.ReplayStatus != "replayed" || was.ReplayStatus == "replayed" {
			return
		}
		t.Exercise()
		original, n := f.ReplayOf(f.Job(id))
		if k := f.Jobs[is.ReplayJob]; k == nil || k.Replay.Of != original || k.Replay.Count != n {
			t.Violation(f.Job(id), "its dead letter is replayed at step %d, as %q, which is not replay %d of %s", invariants.StepNo(s.Step), is.ReplayJob, n, original)
		}
	}}
})
