package invariants

import (
	"maps"
	"time"
)

// permits says whether a job may be dispatched by the decision that its record holds.
func (j *job) permits(cfg *PolicyConfig) bool {
	switch j.decision {
	case decisionAllow, decisionConstrained:
		return true
	case decisionFailOpen:
		return cfg.FailMode == failModeOpen
	case decisionApproval:
		return j.approved
	}
	return false
}

// Throttled says whether the job of that id waits, rightly, as the safety kernel throttles it.
func (j *observer) Throttled(id string) bool {
	job := j.facts.jobs[id]
	return job != nil && j.facts.throttled(job, j.facts.at)
}

// throttled says whether a job waits rightly at that instant: the safety kernel throttles it, and the time in which it is
// to be asked again is not over.
func (f *facts) throttled(j *job, at time.Duration) bool {
	if j.state != pending || j.putOff == 0 {
		return false
	}
	within := at - j.putOff
	return j.requested() && within <= f.cfg.throttledFor() || f.cfg.PendingReplayer && within <= f.cfg.PendingAge+4*f.cfg.PollInterval+f.cfg.JobLockTTL
}

// throttledFor is how long it takes at most until a job's request is handled again that the safety kernel throttles;
// meanwhile another may have the job's lock.
func (c *Config) throttledFor() time.Duration {
	delay := c.Policy.ThrottleDelay
	if c.BusyBackoff {
		delay = max(delay, c.BackoffMax)
	}
	return delay + c.JobLockTTL
}

var noDispatchWithoutDecision = checking(Invariant{
	Name:   "no-dispatch-without-decision",
	Says:   "A job that was PENDING becomes SCHEDULED only with a decision that allows it, which is what the safety kernel told that replica last, or FAIL_OPEN in the fail mode open; and it is dispatched only while its record has one.",
	Kind:   Always,
	Source: "Scheduler internals, section 1, and section 6: no job passes through without a policy decision",
}, func(f *facts, t *tally) checker {
	if !f.cfg.Policy.Kernel {
		return checker{}
	}
	return checker{
		wrote: func(s *step, w *write) {
			j := s.job
			if j.state != scheduled || w.from != pending {
				return
			}
			t.exercise()
			said := f.policy.answers[caller{s.Node, s.Incarnation, j.id, circuitSafety}]
			switch {
			case j.decidedAt != s.Step:
				t.violated(j, "%s wrote SCHEDULED at step %d without a decision", Who(s.Event), s.Step)
			case !j.permits(&f.cfg.Policy):
				t.violated(j, "%s wrote SCHEDULED at step %d with the decision %q", Who(s.Event), s.Step, j.decision)
			case j.decision == decisionFailOpen:
				f.reach(failOpenUsed)
			case said.decision != j.decision || !maps.Equal(said.constraints, j.wish.constraints):
				t.violated(j, "%s wrote SCHEDULED at step %d with the decision %s and the constraints %v, but the safety kernel had told it %q and %v",
					Who(s.Event), s.Step, j.decision, j.wish.constraints, said.decision, said.constraints)
			}
		},
		sent: func(s *step) {
			if !s.job.permits(&f.cfg.Policy) {
				t.violated(s.job, "%s published to %s at step %d, while the record had the decision %q", Who(s.Event), s.Target, s.Step, s.job.decision)
			}
		},
	}
})

var noDispatchOfDeniedJob = checking(Invariant{
	Name:   "no-dispatch-of-denied-job",
	Says:   "The stream stores no dispatch of a job that the safety kernel has denied.",
	Kind:   Always,
	Source: "Scheduler internals, section 1, DENIED",
}, func(f *facts, t *tally) checker {
	return checker{
		wrote: func(s *step, w *write) {
			if s.job.state == denied && w.from != denied {
				t.exercise()
				f.reach(jobDenied)
			}
		},
		stored: func(s *step, d *dispatch) {
			if s.job.state == denied || s.job.decision == decisionDeny {
				t.violated(s.job, "dispatch stored, %s seq %d on %s at step %d, of a job that is %s with the decision %s", streamJobs, d.seq, d.subject, d.step, s.job.state, s.job.decision)
			}
		},
	}
})

var throttledJobWaits = checking(Invariant{
	Name:   "throttled-job-waits",
	Says:   "The safety kernel is not asked again about a job that it throttles before throttle_delay has passed, unless somebody else has asked for the job too: a second request, or the replayer.",
	Kind:   Always,
	Source: "Scheduler internals, section 7: safetyThrottleDelay",
}, func(f *facts, t *tally) checker {
	f.policy.asking = append(f.policy.asking, func(s *step, c circuit, _ *leave) {
		told, was := f.policy.throttled[s.Job]
		if c != circuitSafety || !was || s.job == nil || s.job.requests > 1 || s.job.replayer != "" {
			return
		}
		t.exercise()
		if s.At-told < f.cfg.Policy.ThrottleDelay-slack {
			t.violated(s.job, "%s asked %s about it at step %d, %s after that had throttled it; it was to wait for %s",
				Who(s.Event), s.Target, s.Step, (s.At - told).Truncate(time.Millisecond), f.cfg.Policy.ThrottleDelay)
		}
	})
	return checker{}
})

var throttledJobComesAgain = checking(Invariant{
	Name:   "throttled-job-comes-again",
	Says:   "While its request is left, the safety kernel is asked again about a job that it throttles once throttle_delay has passed; with busy_backoff within backoff_max, if that is longer.",
	Kind:   Always,
	Source: "Scheduler internals, section 7: safetyThrottleDelay",
}, func(f *facts, t *tally) checker {
	judge := func(j *job, told, at time.Duration) {
		t.exercise()
		if within := at - told; within > f.cfg.throttledFor() {
			t.violated(j, "was put off at %s, and not put to the safety kernel again within %s", told.Truncate(time.Millisecond), within.Truncate(time.Millisecond))
		}
	}
	f.policy.asking = append(f.policy.asking, func(s *step, c circuit, _ *leave) {
		if told, was := f.policy.throttled[s.Job]; c == circuitSafety && was && s.job != nil && s.job.requested() {
			judge(s.job, told, s.At)
		}
	})
	return checker{ended: func(end *End) {
		for _, j := range f.order {
			if told, was := f.policy.throttled[j.id]; was && j.state == pending && j.requested() {
				judge(j, told, end.At)
			}
		}
	}}
})
