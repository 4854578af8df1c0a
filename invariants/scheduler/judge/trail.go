package judge

import (
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/sim"
)

var auditEventTellsItsChange = rule.New(invariants.Invariant{
	Name:   "audit-event-tells-its-change",
	Says:   "An event of the audit trail has the time at which it is written. An event about an approval, an output or a compensation has the author, the reason code and the reason of its decision: those in the job's record, those in the record of the scan, or those that the safety kernel gave. An event about a compensation names the compensation's job. An event about a refusal names the person who is refused.",
	Kind:   invariants.Always,
	Source: "Dead letters: recover safely with an audit trail; Scheduler internals, section 2: DLQ + audit event; who is named as the author is a value that no document gives",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Noted: func(s *model.Step, e *history.AuditEvent) {
		if s.Kind == sim.KindLate {
			return
		}
		t.Exercise()
		complain := func(format string, args ...any) {
			args = append([]any{invariants.Who(s.Event), e.Kind, invariants.StepNo(s.Step)}, args...)
			t.Violation(f.Jobs[e.JobID], "%s noted %s in the audit trail at step %d, "+format, args...)
		}
		if at := f.Workflow.Since(e.At); f.Undisturbed(s) && (at > s.At || at < s.At-f.Config.StoreOpTimeout-model.Slack) {
			complain("as of %s, which was at %s", at, s.At)
		}
		switch should := eventOf(f, s, e); {
		case should == nil && e.Kind == history.SagaDenied:
			complain("of the job %q, which the safety kernel has not denied to it", e.JobID)
		case should == nil:
		case e.By != should.By:
			complain("by %q, and that was by %q", e.By, should.By)
		case e.ReasonCode != should.ReasonCode:
			complain("with the reason code %q, and that was for %q", e.ReasonCode, should.ReasonCode)
		case !strings.Contains(e.Reason, should.Reason):
			complain("for the reason %q, and that was for %q", e.Reason, should.Reason)
		}
	}}
})

// byOutputPolicy is the author of decisions of the output policy.
const byOutputPolicy = "output policy"

// eventOf returns the author, the reason code and the reason that an event of the audit trail should have, by its kind; nil if
// nothing shows them. The event's reason must contain this one.
func eventOf(f *model.Facts, s *model.Step, e *history.AuditEvent) *history.AuditEvent {
	j := f.Jobs[e.JobID]
	if j == nil {
		return nil
	}
	g := &j.Consent
	switch e.Kind {
	case history.AuditApprovalRequired:
		if s.Phase == "ask_again_write" {
			return &history.AuditEvent{Reason: g.Asked}
		}
		return &history.AuditEvent{Reason: g.Reason}
	case history.AuditApprovalGranted:
		if given := g.Given(s); given != nil {
			return &history.AuditEvent{By: g.By, Reason: given.Hash}
		}
	case history.AuditQuarantined:
		return &history.AuditEvent{By: byOutputPolicy, ReasonCode: j.ReasonCode, Reason: j.Reason}
	case history.AuditUnscanned:
		return &history.AuditEvent{By: byOutputPolicy, Reason: j.Out.Found["async"].Reason}
	case history.SagaDenied:
		if a, _ := f.ToldOf(s, e.JobID); a.Decision == history.DecisionDeny {
			return &history.AuditEvent{By: a.Snapshot, ReasonCode: history.ReasonDenied, Reason: a.Reason}
		}
	case history.AuditRefused:
		if j.Entered {
			return &history.AuditEvent{By: e.By, ReasonCode: j.Says.ReasonCode, Reason: e.By}
		}
	}
	return nil
}
