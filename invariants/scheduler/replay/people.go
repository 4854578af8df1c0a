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

var decisionIsTaken = rule.New(invariants.Invariant{
	Name:   "decision-is-taken",
	Says:   "A person of the right group may want to approve, mend, ask for or deny a replay. Their decision is written when they look at the dead letter, if it waits for that decision and nothing fails or comes between. A mended letter has their payload, a denied one has their reason, and one whose replay they allow is due at once. The invariant is judged where the plan wants one thing of them.",
	Kind:   invariants.Always,
	Source: "Dead letters, failure triage model, and triage policy: approver_group and owner",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	tried := func(id string, y *model.Try) {
		errand, fits := fitting(f, id, &y.Letter)
		if !fits || !mayDecide(&f.Config.Replay, id, errand, &y.Letter) {
			return
		}
		t.Exercise()
		if y.Vain() {
			t.Violation(f.Job(id), "its dead letter was %s when the operator looked at it at step %d, who may decide, and nothing has come of %s", y.Letter.ReplayStatus, invariants.StepNo(y.Step), errand)
		}
	}
	return observe.Checker{LetterTried: tried, LetterDecided: func(s *model.Step, id string, _, is *model.Letter) {
		events := f.Trail(s, id)
		if s.Node != history.OperatorNode || len(events) != 1 {
			return
		}
		t.Exercise()
		c := &f.Config.Replay
		switch e := events[0]; {
		case e.Kind == "dlq_mended" && c.Mended != "" && is.Payload != c.Mended:
			t.Violation(f.Job(id), "it was mended at step %d with the payload %q, and the operator gave %q", invariants.StepNo(s.Step), is.Payload, c.Mended)
		case e.Kind == decided["denied"] && e.By == s.Node && (e.Reason != c.Denied || !strings.Contains(is.Why, c.Denied)):
			t.Violation(f.Job(id), "its replay was denied at step %d for the reason %q (%q), and the operator said %q", invariants.StepNo(s.Step), e.Reason, is.Why, c.Denied)
		case is.ReplayStatus == waits[actAutoReplay] && is.Due > max(s.At, f.Workflow.Since(e.At)):
			t.Violation(f.Job(id), "its replay is due at %s, and the operator has let it be replayed at step %d (%s)", is.Due, invariants.StepNo(s.Step), s.At)
		}
	}, Ended: func(end *invariants.End) {
		if end.InTime {
			f.LastTries(tried)
		}
	}}
})

var refusalIsAudited = rule.New(invariants.Invariant{
	Name:   "refusal-is-audited",
	Says:   "When a person who is not of the right group looks at a dead letter and is refused, the audit trail gets one event by their name. Nobody of the right group is refused.",
	Kind:   invariants.Always,
	Source: "Dead letters, triage policy: approver_group and owner; recover safely with an audit trail",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	c := &f.Config.Replay
	tried := func(id string, y *model.Try) {
		errand, fits := fitting(f, id, &y.Letter)
		if !fits || y.Letter.Raised != "" || mayDecide(c, id, errand, &y.Letter) {
			return
		}
		t.Exercise()
		if y.Refused == 0 && y.Vain() {
			t.Violation(f.Job(id), "the operator, who is not of the right group, has looked at its dead letter at step %d for %s, and the audit trail has no refusal", invariants.StepNo(y.Step), errand)
		}
	}
	return observe.Checker{LetterTried: tried, LetterRefused: func(s *model.Step, e *history.AuditEvent, y *model.Try) {
		t.Exercise()
		mayNot := func(errand string) bool { return !mayDecide(c, e.JobID, errand, &y.Letter) }
		switch wants := c.Errands[e.JobID]; {
		case e.By != s.Node:
			t.Violation(f.Job(e.JobID), "the audit trail says at step %d that %q was refused, and that was %s", invariants.StepNo(s.Step), e.By, s.Node)
		case y.Refused > 1 && y.Vain():
			t.Violation(f.Job(e.JobID), "the audit trail has a second refusal, at step %d, of the look at its dead letter at step %d", invariants.StepNo(s.Step), invariants.StepNo(y.Step))
		case y.Letter.Raised == "" && len(wants) > 0 && !slices.ContainsFunc(wants, mayNot):
			t.Violation(f.Job(e.JobID), "the operator was refused at step %d, who is of the right group", invariants.StepNo(s.Step))
		}
	}, Ended: func(end *invariants.End) {
		if end.InTime {
			f.LastTries(tried)
		}
	}}
})

// The plan's words for what people do with a dead letter.
const (
	toApprove = "approve_replay"
	toMend    = "mend_replay"
	toAsk     = "ask_replay"
)

// fitting returns the decision that the plan wants on a job's dead letter. fits says whether the letter, as
// it was seen, waits for it. Nobody decides before the schedulers have triaged it.
func fitting(f *model.Facts, id string, l *model.Letter) (errand string, fits bool) {
	c := &f.Config.Replay
	if len(c.Errands[id]) != 1 || !c.Triage || l.Step || l.Status == "TERMINATED" || l.Action == "" || f.Replay.Letters[id].Lost(f.At) {
		return "", false
	}
	_, most := triage(c, l)
	left := f.Job(id).Replay.Count < most
	switch errand = c.Errands[id][0]; errand {
	case toApprove:
		return errand, left && l.ReplayStatus == waits[actApproval]
	case toMend:
		return errand, left && l.ReplayStatus == waits[actQuarantine]
	case toAsk:
		open := l.Raised == "" && l.DecidedBy == "" && (l.Action == actManual || l.Action == actAutoReplay)
		return errand, left && open && l.ReplayStatus == waits[l.Action]
	}
	return errand, !slices.Contains(ends, l.ReplayStatus)
}

// mayDecide says whether the person who decides on a job's dead letter may do an errand on it.
func mayDecide(c *config.ReplayConfig, id, errand string, l *model.Letter) bool {
	groups, known := c.Operators[id]
	r := personsRule(c, l)
	if !known || r == nil { // of every group
		return true
	}
	switch errand {
	case toApprove:
		return of(groups, r.Approvers)
	case toMend:
		return of(groups, r.Owner)
	case toAsk:
		return l.Action != actManual || of(groups, r.Owner)
	}
	return of(groups, cmp.Or(r.Approvers, r.Owner))
}
