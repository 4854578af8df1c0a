package judge

import (
	"maps"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"

	"github.com/wavetank-sim/wavetank/invariants"
)

// permits says whether a job may be dispatched by the decision that its record holds.
func permits(j *job, cfg *config.PolicyConfig) bool {
	switch j.decision {
	case history.DecisionAllow, history.DecisionConstrained:
		return true
	case history.DecisionFailOpen:
		return cfg.FailMode == config.FailModeOpen
	case history.DecisionApproval:
		return j.approved
	}
	return false
}

var noDispatchWithoutDecision = checking(invariants.Invariant{
	Name:   "no-dispatch-without-decision",
	Says:   "A job that was PENDING becomes SCHEDULED only with a decision that allows it, which is what the safety kernel told that replica last, or FAIL_OPEN in the fail mode open; and it is dispatched only while its record has one.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, and section 6: no job passes through without a policy decision",
}, func(f *facts, t *tally) checker {
	if !f.config.Policy.Kernel {
		return checker{}
	}
	return checker{
		wrote: func(s *step, w *write) {
			j := s.about
			if j.state != scheduled || w.from != pending {
				return
			}
			t.exercise()
			said := f.policy.answers[caller{s.Node, s.Incarnation, j.id, history.CircuitSafety}]
			switch {
			case j.decidedAt != s.Step:
				t.violated(j, "%s wrote SCHEDULED at step %d without a decision", invariants.Who(s.Event), s.Step)
			case !permits(j, &f.config.Policy):
				t.violated(j, "%s wrote SCHEDULED at step %d with the decision %q", invariants.Who(s.Event), s.Step, j.decision)
			case j.decision == history.DecisionFailOpen:
				f.reach(failOpenUsed)
			case said.decision != j.decision || !maps.Equal(said.constraints, j.wish.constraints):
				t.violated(j, "%s wrote SCHEDULED at step %d with the decision %s and the constraints %v, but the safety kernel had told it %q and %v",
					invariants.Who(s.Event), s.Step, j.decision, j.wish.constraints, said.decision, said.constraints)
			}
		},
		sent: func(s *step) {
			if !permits(s.about, &f.config.Policy) {
				t.violated(s.about, "%s published to %s at step %d, while the record had the decision %q", invariants.Who(s.Event), s.Target, s.Step, s.about.decision)
			}
		},
	}
})

var noDispatchOfDeniedJob = checking(invariants.Invariant{
	Name:   "no-dispatch-of-denied-job",
	Says:   "The stream stores no dispatch of a job that the safety kernel has denied.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, DENIED",
}, func(f *facts, t *tally) checker {
	return checker{
		wrote: func(s *step, w *write) {
			if s.about.state == denied && w.from != denied {
				t.exercise()
				f.reach(jobDenied)
			}
		},
		stored: func(s *step, d *dispatch) {
			if s.about.state == denied || s.about.decision == history.DecisionDeny {
				t.violated(s.about, "dispatch stored, %s seq %d on %s at step %d, of a job that is %s with the decision %s", history.StreamJobs, d.seq, d.subject, d.step, s.about.state, s.about.decision)
			}
		},
	}
})

var throttledJobWaits = checking(invariants.Invariant{
	Name:   "throttled-job-waits",
	Says:   "The safety kernel is not asked again about a job that it throttles before throttle_delay has passed, unless somebody else has asked for the job too: a second request, or the replayer.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 7: safetyThrottleDelay",
}, func(f *facts, t *tally) checker {
	f.policy.asking = append(f.policy.asking, func(s *step, c history.Circuit, _ *leave) {
		told, was := f.policy.throttled[s.Job]
		if c != history.CircuitSafety || !was || s.about == nil || s.about.requests > 1 || s.about.replayer != "" {
			return
		}
		t.exercise()
		if s.At-told < f.config.Policy.ThrottleDelay-slack {
			t.violated(s.about, "%s asked %s about it at step %d, %s after that had throttled it; it was to wait for %s",
				invariants.Who(s.Event), s.Target, s.Step, (s.At - told).Truncate(time.Millisecond), f.config.Policy.ThrottleDelay)
		}
	})
	return checker{}
})

var throttledJobComesAgain = checking(invariants.Invariant{
	Name:   "throttled-job-comes-again",
	Says:   "While its request is left, the safety kernel is asked again about a job that it throttles once throttle_delay has passed; with busy_backoff within backoff_max, if that is longer.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 7: safetyThrottleDelay",
}, func(f *facts, t *tally) checker {
	judge := func(j *job, told, at time.Duration) {
		t.exercise()
		if within := at - told; within > f.config.ThrottledFor() {
			t.violated(j, "was put off at %s, and not put to the safety kernel again within %s", told.Truncate(time.Millisecond), within.Truncate(time.Millisecond))
		}
	}
	f.policy.asking = append(f.policy.asking, func(s *step, c history.Circuit, _ *leave) {
		if told, was := f.policy.throttled[s.Job]; c == history.CircuitSafety && was && s.about != nil && requestLeft(s.about) {
			judge(s.about, told, s.At)
		}
	})
	return checker{ended: func(end *invariants.End) {
		for _, j := range f.order {
			if told, was := f.policy.throttled[j.id]; was && j.state == pending && requestLeft(j) {
				judge(j, told, end.At)
			}
		}
	}}
})
