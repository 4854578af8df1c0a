package policies

import (
	"cmp"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/sim"
)

// What holds for approvals (Scheduler internals, section 1, approval flow).
var approvalInvariants = []rule.Rule{
	noDispatchWithoutApproval, approvalIsOfWhatWasSeen, approvalNamesWhatWaits, everyApprovalIsAudited, approvalNotExpired, approvalIsGiven, approvedJobGoesOn,
}

// approvalDoubt is how long after the check of an approval's age the write that relies on it may come: the
// kernel and the store are asked in between.
const approvalDoubt = 15 * time.Second

var noDispatchWithoutApproval = rule.New(invariants.Invariant{
	Name:   "no-dispatch-without-approval",
	Says:   "A job for which the safety kernel requires an approval becomes SCHEDULED only after its current request has been approved. The stream stores a dispatch of such a job only if it dispatches the approved request.",
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

var approvalIsOfWhatWasSeen = rule.New(invariants.Invariant{
	Name:   "approval-is-of-what-was-seen",
	Says:   "An approver approves a job only while the job waits for an approval. They approve the request that they saw when they last looked at the job; with bind_approvals this is also the request that waits. The request carries the time and the approver of the approval that the record has.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, approval flow: the matching job hash",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Approvals.Kernel {
		return observe.Checker{}
	}
	return observe.Checker{Amended: func(s *model.Step, _ *model.Write) {
		j := s.About
		g := j.Consent.Given(s)
		if g == nil {
			return
		}
		t.Exercise()
		switch seen := j.Consent.Seen[invariants.Process(s.Node, s.Incarnation)]; {
		case j.State != model.ApprovalRequired:
			t.Violation(j, "%s approved it at step %d, when it was %s", invariants.Who(s.Event), invariants.StepNo(s.Step), j.State)
		case g.Hash != seen.Hash:
			t.Violation(j, "%s approved a request with the hash %.12s at step %d; what it had looked at has %.12s",
				invariants.Who(s.Event), g.Hash, invariants.StepNo(s.Step), cmp.Or(seen.Hash, "none"))
		case f.Config.Approvals.Bind && g.Hash != j.Consent.Waits:
			t.Violation(j, "%s approved a request with the hash %.12s at step %d; what waits has %.12s", invariants.Who(s.Event), g.Hash, invariants.StepNo(s.Step), j.Consent.Waits)
		case j.Request != nil && !j.Request.Bears(g.Hash, j.Consent.At, j.Consent.By):
			t.Violation(j, "%s approved it at step %d, at %s as %q by the record, and its request does not say so", invariants.Who(s.Event), invariants.StepNo(s.Step), cmp.Or(j.Consent.At, "no time"), j.Consent.By)
		}
	}}
})

var approvalNamesWhatWaits = rule.New(invariants.Invariant{
	Name:   "approval-names-what-waits",
	Says:   "When a job comes to wait for an approval, its record names the request to be approved: job_hash is the hash of the request in the record. The record gives the reason that the safety kernel gave. Without fence, a write may meet another request than its writer read; job_hash is then the hash of a request that was made for the job.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, approval flow: the matching job hash",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Approvals.Kernel {
		return observe.Checker{}
	}
	judge := func(s *model.Step, _ *model.Write) {
		j := s.About
		g := &j.Consent
		if j.State != model.ApprovalRequired {
			return
		}
		t.Exercise()
		if g.Asked != g.Waits && (f.Config.Fence || s.Phase == "ask_again_write" || !g.Knows(g.Asked)) {
			t.Violation(j, "%s left it waiting for an approval at step %d (%s) of a request with the hash %.12s; the request on record has %.12s",
				invariants.Who(s.Event), invariants.StepNo(s.Step), s.Phase, cmp.Or(g.Asked, "none"), g.Waits)
		}
	}
	return observe.Checker{Amended: judge, Wrote: func(s *model.Step, w *model.Write) {
		judge(s, w)
		told, asked := f.Told(s)
		if s.Phase == "approval_write" && s.Kind != sim.KindLate && asked && told.Reason != s.About.Consent.Reason {
			t.Violation(s.About, "%s left it waiting for an approval at step %d, for the reason %q; the safety kernel had told it %q",
				invariants.Who(s.Event), invariants.StepNo(s.Step), s.About.Consent.Reason, told.Reason)
		}
	}}
})

var everyApprovalIsAudited = rule.New(invariants.Invariant{
	Name:   "every-approval-is-audited",
	Says:   "The write that makes a job wait for an approval, makes it wait for another one, or gives it one also adds exactly one event to the audit trail. The event of an approval says what was approved, and by whom.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, approval flow; the audit trail's kinds are values that no document gives",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Approvals.Kernel {
		return observe.Checker{}
	}
	judge := func(s *model.Step, what string, told func(*history.AuditEvent) bool) {
		t.Exercise()
		if events := f.Trail(s, s.About.ID); len(events) != 1 || !told(events[0]) {
			t.Violation(s.About, "%s wrote at step %d (%s) that it %s, and the audit trail has %s of it, not the one that says so",
				invariants.Who(s.Event), invariants.StepNo(s.Step), s.Phase, what, invariants.CountOf(len(events), "event", "events"))
		}
	}
	waits := func(s *model.Step) {
		judge(s, "waits for an approval", func(e *history.AuditEvent) bool { return e.Kind == history.AuditApprovalRequired })
	}
	return observe.Checker{
		Wrote: func(s *model.Step, w *model.Write) {
			if s.About.State == model.ApprovalRequired && w.From != model.ApprovalRequired {
				waits(s)
			}
		},
		Amended: func(s *model.Step, _ *model.Write) {
			if g := s.About.Consent.Given(s); g != nil {
				judge(s, "is approved", func(e *history.AuditEvent) bool {
					return e.Kind == history.AuditApprovalGranted && e.Reason == g.Hash && e.By != ""
				})
			} else if s.Phase == "ask_again_write" {
				waits(s)
			}
		},
	}
})

var approvalNotExpired = rule.New(invariants.Invariant{
	Name:   "approval-not-expired",
	Says:   "A job for which the safety kernel requires an approval goes on only while the approval of its request is no older than approval_ttl, by the clock of Redis. A scheduler that finds the approval no older takes the job on.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, approval flow; approval_ttl is a value that no document gives",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Approvals.Kernel {
		return observe.Checker{}
	}
	ttl := f.Config.Approvals.TTL
	return observe.Checker{
		Wrote: func(s *model.Step, w *model.Write) {
			j := s.About
			g := j.Consent.Granted(j.Consent.Waits)
			resumes := w.From == model.ApprovalRequired && j.State == model.Pending
			schedules := w.From == model.Pending && j.State == model.Scheduled && j.Decision == history.DecisionApproval
			if g == nil || !resumes && !schedules {
				return
			}
			t.Exercise()
			if f.LookedTooLate(s.Handling) {
				t.Violation(j, "%s wrote %s at step %d, although its approval was %s old when it looked at step %d; an approval counts for %s",
					invariants.Who(s.Event), j.State, invariants.StepNo(s.Step), s.Handling.Aged.Age.Round(time.Millisecond), invariants.StepNo(s.Handling.Aged.Step), ttl)
			} else if age := s.At - g.Since; schedules && age > ttl+approvalDoubt {
				t.Violation(j, "%s wrote SCHEDULED at step %d, %s after it was approved; an approval counts for %s", invariants.Who(s.Event), invariants.StepNo(s.Step), age.Round(time.Millisecond), ttl)
			}
			if s.Handling != nil {
				s.Handling.Aged = model.Aged{}
			}
		},
		Released: func(s *model.Step) {
			if f.LeavesApproved(s) {
				t.Violation(s.About, "%s left it %s at step %d, although its approval was %s old when it looked at step %d; an approval counts for %s",
					invariants.Who(s.Event), s.About.State, invariants.StepNo(s.Step), s.Handling.Aged.Age.Round(time.Millisecond), invariants.StepNo(s.Handling.Aged.Step), ttl)
			}
		},
	}
})

var approvalIsGiven = rule.New(invariants.Invariant{
	Name:   "approval-is-given",
	Says:   "An approver approves a job once they have looked at it long enough while it waits. Only a failure, the end of the wait or, with bind_approvals, another request may prevent the approval.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 1, approval flow",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Approvals.Kernel {
		return observe.Checker{}
	}
	return observe.Checker{Ended: func(*invariants.End) {
		for _, j := range f.Order {
			looks, wanted := f.Config.Approvals.Looks[j.ID]
			if !wanted || len(j.Consent.Seen) == 0 {
				continue
			}
			t.Exercise()
			if step := f.Withheld(j, looks); step != 0 {
				t.Violation(j, "the approver saw that it waits for an approval, and nothing was in the way from step %d on, but it was not approved", invariants.StepNo(step))
			}
		}
	}}
})

var approvedJobGoesOn = rule.New(invariants.Invariant{
	Name:   "approved-job-goes-on",
	Says:   "A job does not stay APPROVAL_REQUIRED if its request has been approved and has not changed since, unless the approval has grown too old.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 1, approval flow; section 3, pending replayer, for an approval whose request is lost",
	Needs:  []string{"terminal-states-final", "events-agree-with-servers"}, // the request of a job that is over is not redelivered
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
