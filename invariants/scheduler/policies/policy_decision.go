package policies

import (
	"maps"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/sim"
)

// permits says whether the decision in a job's record allows its dispatch.
func permits(j *model.Job, cfg *config.PolicyConfig) bool {
	switch j.Decision {
	case history.DecisionAllow, history.DecisionConstrained:
		return true
	case history.DecisionFailOpen:
		return cfg.FailMode == config.FailModeOpen
	case history.DecisionApproval:
		return j.Approved
	}
	return false
}

// decides says whether a PENDING job comes into that state by a decision.
func decides(to model.State) bool {
	return to == model.Scheduled || to == model.ApprovalRequired || to == model.Denied
}

// fits says whether the decision in the record fits the state in it.
func fits(j *model.Job, cfg *config.PolicyConfig) bool {
	switch j.State {
	case model.ApprovalRequired:
		return j.Decision == history.DecisionApproval
	case model.Denied:
		return j.Decision == history.DecisionDeny
	}
	return permits(j, cfg)
}

var noDispatchWithoutDecision = rule.New(invariants.Invariant{
	Name:   "no-dispatch-without-decision",
	Says:   "A PENDING job becomes SCHEDULED, APPROVAL_REQUIRED or DENIED only by a decision for that state. The decision is the last that the safety kernel gave that replica. If the kernel gave none, because the call failed or an open circuit stopped it, the decision is FAIL_OPEN, and only in the fail mode open. The record names the policy snapshot of the decision, and a denial gives the kernel's reason. A scheduler dispatches the job only while its record has a decision that allows it.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, and section 6: no job passes through without a policy decision",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Policy.Kernel {
		return observe.Checker{}
	}
	return observe.Checker{
		Wrote: func(s *model.Step, w *model.Write) {
			j := s.About
			if w.From != model.Pending || !decides(j.State) {
				return
			}
			t.Exercise()
			who, at := invariants.Who(s.Event), invariants.StepNo(s.Step)
			said, asked := f.Told(s)
			open := j.Decision == history.DecisionFailOpen
			switch {
			case j.DecidedAt != s.Step:
				t.Violation(j, "%s wrote %s at step %d without a decision", who, j.State, at)
			case !fits(j, &f.Config.Policy):
				t.Violation(j, "%s wrote %s at step %d with the decision %q", who, j.State, at, j.Decision)
			case open && !asked && !f.Refused(s, history.CircuitSafety):
				t.Violation(j, "%s wrote %s at step %d with the decision FAIL_OPEN, although it had not asked the safety kernel, and no circuit kept it from that", who, j.State, at)
			case open && said.Decision != "":
				t.Violation(j, "%s wrote %s at step %d with the decision FAIL_OPEN, although the safety kernel had told it %q", who, j.State, at, said.Decision)
			case open:
				f.Reach(model.FailOpenUsed)
				f.Count.Sure(history.CounterFailOpen, j.TopicOf())
			case said.Decision != j.Decision || j.State == model.Scheduled && !maps.Equal(said.Constraints, j.Wish.Constraints):
				t.Violation(j, "%s wrote %s at step %d with the decision %s and the constraints %v, but the safety kernel had told it %q and %v",
					who, j.State, at, j.Decision, j.Wish.Constraints, said.Decision, said.Constraints)
			case said.Snapshot != j.Snapshot:
				t.Violation(j, "%s wrote %s at step %d with the policy snapshot %q, but the safety kernel had decided by %q", who, j.State, at, j.Snapshot, said.Snapshot)
			case j.State == model.Denied && said.Reason != "" && j.Reason != said.Reason:
				t.Violation(j, "%s wrote DENIED at step %d for the reason %q, but the safety kernel had told it %q", who, at, j.Reason, said.Reason)
			}
		},
		Sent: func(s *model.Step) {
			if !permits(s.About, &f.Config.Policy) {
				t.Violation(s.About, "%s published to %s at step %d, while the record had the decision %q", invariants.Who(s.Event), s.Target, invariants.StepNo(s.Step), s.About.Decision)
			}
		},
	}
})

var kernelIsAskedAboutTheRequest = rule.New(invariants.Invariant{
	Name:   "kernel-is-asked-about-the-request",
	Says:   "A decision of the safety kernel is written with the request about which the kernel was asked. The question has the request's topic, tenant, priority, labels, requires and hash, and says whether it is a replay.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1: what the safety kernel decides on; Dead letters, for replays",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Policy.Kernel {
		return observe.Checker{}
	}
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		j := s.About
		said, _ := f.Told(s)
		if w.From != model.Pending || !decides(j.State) || s.Kind == sim.KindLate || said.Asked == nil || j.Decided == nil || j.Decision != said.Decision {
			return
		}
		t.Exercise()
		if field, is, should := said.Asked.DiffersForKernel(j.Decided); field != "" {
			t.Violation(j, "%s wrote %s at step %d, but had asked the safety kernel at step %d with the %s %s, and the request has %s",
				invariants.Who(s.Event), j.State, invariants.StepNo(s.Step), invariants.StepNo(said.Step), field, is, should)
		}
	}}
})

var failOpenGoesOn = rule.New(invariants.Invariant{
	Name:   "fail-open-goes-on",
	Says:   "A policy gives no answer if the call fails or an open circuit stops it. If the output policy gives none, the result passes in the same handling. In the fail mode open, a request passes likewise if the safety kernel gives no answer. Neither waits for an answer, unless the servers refuse the write.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 2, fail-open default, and section 6, input policy fail mode",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if !f.Config.Policy.Kernel && !f.Config.Output.Enabled {
		return observe.Checker{}
	}
	open := f.Config.Policy.FailMode == config.FailModeOpen
	return observe.Checker{Released: func(s *model.Step) {
		j, h := s.About, s.Handling
		for c, fails := range [history.Circuits]bool{history.CircuitSafety: open, history.CircuitOutput: true} {
			if !fails || j.Mixed || !f.Unanswered(s, history.Circuit(c)) {
				continue
			}
			t.Exercise()
			waits := c == int(history.CircuitSafety) && j.State == model.Pending || c == int(history.CircuitOutput) && j.State.InFlight()
			if waits && !h.Wrote && !h.StoreFailed && !h.Overdue && h.Renewals == 0 {
				t.Violation(j, "%s had no answer of the %s, and ended its handling at step %d with the job still %s", invariants.Who(s.Event), history.Services[c], invariants.StepNo(s.Step), j.State)
			}
		}
	}}
})

var noDispatchOfDeniedJob = rule.New(invariants.Invariant{
	Name:   "no-dispatch-of-denied-job",
	Says:   "The stream stores no dispatch of a job that the safety kernel has denied.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, DENIED",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{
		Wrote: func(s *model.Step, w *model.Write) {
			if s.About.State == model.Denied && w.From != model.Denied {
				t.Exercise()
				f.Reach(model.JobDenied)
			}
		},
		Stored: func(s *model.Step, d *model.Dispatch) {
			if s.About.State == model.Denied || s.About.Decision == history.DecisionDeny {
				t.Violation(s.About, "dispatch stored, %s seq %d on %s at step %d, of a job that is %s with the decision %s", history.StreamJobs, d.Seq, d.Subject, invariants.StepNo(d.Step), s.About.State, s.About.Decision)
			}
		},
	}
})

var throttledJobWaits = rule.New(invariants.Invariant{
	Name:   "throttled-job-waits",
	Says:   "After the safety kernel throttles a job, no scheduler asks it about the job again before throttle_delay has passed. A second request for the job and the replayer may ask sooner.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 7: safetyThrottleDelay",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Calling: func(s *model.Step, c history.Circuit, _ *model.Leave) {
		told, was := f.Policy.Throttled[s.Job]
		if c != history.CircuitSafety || !was || s.About == nil || f.Crossed(s, told) {
			return
		}
		t.Exercise()
		if s.At-told < f.Config.Policy.ThrottleDelay-model.Slack {
			t.Violation(s.About, "%s asked the safety kernel about it at step %d, %s after that had throttled it; it was to wait for %s",
				invariants.Who(s.Event), invariants.StepNo(s.Step), (s.At - told).Truncate(time.Millisecond), f.Config.Policy.ThrottleDelay)
		}
	}}
})

var throttledJobComesAgain = rule.New(invariants.Invariant{
	Name:   "throttled-job-comes-again",
	Says:   "While the request of a throttled job is left, a scheduler asks the safety kernel again once throttle_delay has passed. With busy_backoff it asks within backoff_max, if that is longer. If the delivery or the answer to it is lost, the replayer asks: once the job is pending_age old, within three ticks that nothing strikes.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 7: safetyThrottleDelay",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	judge := func(j *model.Job, told, at time.Duration) {
		t.Exercise()
		if f.LeftToReplayer(j) && !f.Ticks.Replayer.PassedOver(max(told, j.Touched)+f.Config.PendingAge) {
			return
		}
		if within := at - told; within > f.Config.ThrottledFor() {
			t.Violation(j, "was put off at %s, and not put to the safety kernel again within %s", told.Truncate(time.Millisecond), within.Truncate(time.Millisecond))
		}
	}
	return observe.Checker{Calling: func(s *model.Step, c history.Circuit, _ *model.Leave) {
		if told, was := f.Policy.Throttled[s.Job]; c == history.CircuitSafety && was && s.About != nil && model.RequestLeft(s.About) {
			judge(s.About, told, s.At)
		}
	}, Ended: func(end *invariants.End) {
		for _, j := range f.Order {
			if told, was := f.Policy.Throttled[j.ID]; was && j.State == model.Pending && model.RequestLeft(j) {
				judge(j, told, end.At)
			}
		}
	}}
})
