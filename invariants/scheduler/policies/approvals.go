package policies

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

// What holds of approvals (Scheduler internals, section 1, approval flow).
var approvalInvariants = []rule.Rule{noDispatchWithoutApproval, approvalNotExpired, approvedJobGoesOn}

// approvalDoubt is how much later than the look at an approval's age the write may be that goes by it: the
// kernel is asked in between, and the store.
const approvalDoubt = 15 * time.Second

var noDispatchWithoutApproval = rule.New(invariants.Invariant{
	Name:   "no-dispatch-without-approval",
	Says:   "A job for which the safety kernel requires an approval is scheduled only once somebody has approved its request as it is then. What is dispatched is what was approved.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, approval flow: approval_granted=true and the matching job hash",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Approvals.Kernel {
		return observe.Checker{}
	}
	return observe.Checker{
		Wrote: func(s *model.Step, w *model.Write) {
			j := s.About
			if w.From != model.Pending || j.State != model.Scheduled || j.Decision != history.DecisionApproval {
				return
			}
			t.Exercise()
			g := j.Consent.Granted(j.Consent.Waits)
			switch {
			case len(j.Consent.Grants) == 0:
				t.Violation(j, "%s wrote SCHEDULED at step %d, although nobody has approved it", invariants.Who(s.Event), invariants.StepNo(s.Step))
			case g == nil:
				t.Violation(j, "%s wrote SCHEDULED at step %d for a request with the hash %.12s; what was approved has %.12s",
					invariants.Who(s.Event), invariants.StepNo(s.Step), j.Consent.Waits, j.Consent.Grants[len(j.Consent.Grants)-1].Hash)
			}
		},
		Stored: func(s *model.Step, d *model.Dispatch) {
			j := s.About
			if j.Decision != history.DecisionApproval {
				return
			}
			if !j.Consent.Approves(d.Order) {
				t.Violation(j, "dispatch stored, %s seq %d at step %d, which is not what was approved", history.StreamJobs, d.Seq, invariants.StepNo(d.Step))
			}
		},
	}
})

var approvalNotExpired = rule.New(invariants.Invariant{
	Name:   "approval-not-expired",
	Says:   "A job for which the safety kernel requires an approval is scheduled only while that of its request is no older than approval_ttl.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, approval flow; approval_ttl is a value that no document gives",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Approvals.Kernel {
		return observe.Checker{}
	}
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		j := s.About
		g := j.Consent.Granted(j.Consent.Waits)
		if w.From != model.Pending || j.State != model.Scheduled || j.Decision != history.DecisionApproval || g == nil {
			return
		}
		t.Exercise()
		if age := s.At - g.Since; age > f.Config.Approvals.TTL+approvalDoubt {
			t.Violation(j, "%s wrote SCHEDULED at step %d, %s after it was approved; an approval counts for %s", invariants.Who(s.Event), invariants.StepNo(s.Step), age.Round(time.Millisecond), f.Config.Approvals.TTL)
		}
	}}
})

var approvedJobGoesOn = rule.New(invariants.Invariant{
	Name:   "approved-job-goes-on",
	Says:   "A job whose request has been approved, and has not changed since, waits for its approval no longer, unless that has grown too old.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 1, approval flow; section 3, pending replayer, for an approval whose request is lost",
	Needs:  []string{"terminal-states-final", "events-agree-with-servers"}, // the request of a job that is over comes no more
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Approvals.Kernel {
		return observe.Checker{}
	}
	return observe.Checker{Ended: func(end *invariants.End) {
		for _, j := range f.Order {
			if len(j.Consent.Grants) == 0 {
				continue
			}
			t.Exercise()
			g := j.Approval()
			if j.State == model.ApprovalRequired && g != nil && g.Since >= j.Consent.Since && end.At <= g.Since+f.Config.Approvals.TTL {
				t.Violation(j, "is still APPROVAL_REQUIRED%s, although it was approved at %s", rule.SinceStep(j), g.Since)
			}
		}
	}}
})
