package judge

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"

	"github.com/wavetank-sim/wavetank/invariants"
)

// What holds of approvals (Scheduler internals, section 1, approval flow).
var approvalInvariants = []rule{noDispatchWithoutApproval, approvalNotExpired, approvedJobGoesOn}

var withBinding = provided("bind_approvals", func(c *config.Config) bool { return c.Approvals.Bind })

// unapproved says whether a job in APPROVAL_REQUIRED waits rightly at that instant: nobody has approved what
// waits, or that was too long ago.
func unapproved(f *facts, j *job, at time.Duration) bool {
	if j.state != approvalRequired {
		return false
	}
	if !f.config.Approvals.Kernel || !f.config.Approvals.Bind {
		return !j.approved
	}
	g := j.consent.granted(j.consent.waits)
	return g == nil || !j.consent.asks || at > g.since+f.config.Approvals.TTL
}

// expired counts the jobs that still wait for an approval, as the one that they had is too old.
func expired(f *facts) (n int) {
	for _, j := range f.order {
		if g := j.consent.granted(j.consent.waits); g != nil && j.state == approvalRequired && f.at > g.since+f.config.Approvals.TTL {
			n++
		}
	}
	return n
}

// approvalDoubt is how much later than the look at an approval's age the write may be that goes by it: the
// kernel is asked in between, and the store.
const approvalDoubt = 15 * time.Second

var noDispatchWithoutApproval = checking(invariants.Invariant{
	Name:   "no-dispatch-without-approval",
	Says:   "A job for which the safety kernel requires an approval is scheduled only once somebody has approved the request that it is then; and what is dispatched of it is what was approved.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, approval flow: approval_granted=true and the matching job hash",
}, func(f *facts, t *tally) checker {
	if !f.config.Approvals.Kernel {
		return checker{}
	}
	return checker{
		wrote: func(s *step, w *write) {
			j := s.about
			if w.from != pending || j.state != scheduled || j.consent.decision != history.DecisionApproval {
				return
			}
			t.exercise()
			g := j.consent.granted(j.consent.waits)
			switch {
			case len(j.consent.grants) == 0:
				t.violated(j, "%s wrote SCHEDULED at step %d, although nobody has approved it", invariants.Who(s.Event), s.Step)
			case g == nil:
				t.violated(j, "%s wrote SCHEDULED at step %d for a request with the hash %.12s; what was approved has %.12s",
					invariants.Who(s.Event), s.Step, j.consent.waits, j.consent.grants[len(j.consent.grants)-1].hash)
			}
		},
		stored: func(s *step, d *dispatch) {
			j := s.about
			if j.consent.decision != history.DecisionApproval {
				return
			}
			for i := range s.Changes {
				if c := &s.Changes[i]; c.Stream == history.StreamJobs && c.Seq == d.seq && !j.consent.approves(c.Value) {
					t.violated(j, "dispatch stored, %s seq %d at step %d, which is not what was approved", history.StreamJobs, d.seq, d.step)
				}
			}
		},
	}
})

var approvalNotExpired = checking(invariants.Invariant{
	Name:   "approval-not-expired",
	Says:   "A job for which the safety kernel requires an approval is scheduled only while that of its request is no older than approval_ttl.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, approval flow: approved within 24 hours",
}, func(f *facts, t *tally) checker {
	if !f.config.Approvals.Kernel {
		return checker{}
	}
	return checker{wrote: func(s *step, w *write) {
		j := s.about
		g := j.consent.granted(j.consent.waits)
		if w.from != pending || j.state != scheduled || j.consent.decision != history.DecisionApproval || g == nil {
			return
		}
		t.exercise()
		if age := time.Duration(j.updated-g.at) * time.Millisecond; age > f.config.Approvals.TTL+approvalDoubt {
			t.violated(j, "%s wrote SCHEDULED at step %d, %s after it was approved; an approval counts for %s", invariants.Who(s.Event), s.Step, age, f.config.Approvals.TTL)
		}
	}}
})

var approvedJobGoesOn = checking(invariants.Invariant{
	Name:   "approved-job-goes-on",
	Says:   "A job whose request has been approved, and has not changed since, waits for its approval no longer, unless that has grown too old.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 1, approval flow; section 3, pending replayer, for an approval whose request is lost",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *facts, t *tally) checker {
	if !f.config.Approvals.Kernel {
		return checker{}
	}
	return checker{ended: func(end *invariants.End) {
		for _, j := range f.order {
			if len(j.consent.grants) == 0 {
				continue
			}
			t.exercise()
			g := j.consent.granted(j.consent.waits)
			if j.state == approvalRequired && g != nil && g.since >= j.consent.since && end.At <= g.since+f.config.Approvals.TTL {
				t.violated(j, "is still APPROVAL_REQUIRED%s, although it was approved at %s", sinceStep(j), g.since)
			}
		}
	}}
})
