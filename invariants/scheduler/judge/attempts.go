package judge

import (
	"maps"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/sim"
)

var attemptsEqualScheduledWrites = rule.New(invariants.Invariant{
	Name:   "attempts-equal-scheduled-writes",
	Says:   "A job's attempts equal the SCHEDULED writes that were applied to it.",
	Kind:   invariants.Always,
	Source: "Dispatch ordering, attempt accounting",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, _ *model.Write) {
		t.Exercise()
		j := s.About
		if j.Attempts != j.Scheduled {
			t.Violation(j, "attempts is %d after the write of %s at step %d (%s), but SCHEDULED was written %s",
				j.Attempts, j.State, invariants.StepNo(s.Step), s.Phase, invariants.CountOf(j.Scheduled, "time", "times"))
			j.Scheduled = j.Attempts // so that it is reported once
		}
	}, Audited: func(*invariants.End) { auditAttempts(f, t) }}
})

var attemptsDrainByTwo = rule.New(invariants.Invariant{
	Name:   "attempts-drain-by-two",
	Says:   "A replay whose publish failed and was rolled back costs exactly two attempts. No replay costs more.",
	Kind:   invariants.Always,
	Source: "Dispatch ordering, attempt accounting: SCHEDULED, then rollback SCHEDULED",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		if s.Handling == nil || s.Kind == sim.KindLate || s.About.Mixed || s.About.State != model.Scheduled {
			return
		}
		cost := s.Handling.Cost
		rollback := w.From == model.Dispatched && (s.Handling.Intended || !f.Config.ResumeIntents) && s.Handling.PublishFailed != 0
		switch {
		case rollback && cost != 2:
			t.Violation(s.About, "the rollback at step %d, after the publish that failed at step %d, left the replay at a cost of %d attempts (of %d) instead of 2",
				invariants.StepNo(s.Step), invariants.StepNo(s.Handling.PublishFailed), cost, s.About.Attempts)
		case cost > 2:
			t.Violation(s.About, "one replay cost %d attempts (of %d) by step %d", cost, s.About.Attempts, invariants.StepNo(s.Step))
		}
		if rollback {
			t.Exercise()
		}
	}}
})

// drawsThatDiffer are as many draws of a jitter as are never all alike by chance.
const drawsThatDiffer = 8

var retryWaitsItsDelay = rule.New(invariants.Invariant{
	Name:   "retry-waits-its-delay",
	Says:   "A scheduler sends a message back for the retry delay of its reason, and the message is not delivered again sooner. The delay is min(base x 2^attempt + jitter, max) for a failed publish, an overloaded pool or a tenant at its limit. It is retry_delay_no_workers if there are no workers. There is a delay for each of these reasons: a busy lock, a failure of the store, a notice that is not published, a safety kernel that throttles or cannot be reached, and a DLQ entry that is not written. The jitter is drawn anew each time. If the events do not show the reason, the delay is between the shortest and the longest of all delays.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 5, exponential backoff, section 6, fail-closed, section 7, retry delays, and section 9, DLQ-first termination",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	jitter := map[int]time.Duration{} // what chance has added, by the delivery that was sent back
	return observe.Checker{SentBack: func(s *model.Step, m *model.Message) {
		t.Exercise()
		if most := f.Config.BackoffJitter; most >= time.Millisecond && m.Due.Most-m.Due.Least == most {
			jitter[s.Answers] = s.Delay - m.Due.Least
		}
		if due := m.Due; s.Delay < due.Least || s.Delay > due.Most {
			which := invariants.Say("%s", due.Least)
			if due.Most != due.Least {
				which = invariants.Say("%s to %s", due.Least, due.Most)
			}
			t.Violation(s.About, "%s sent its message %d of %s back at step %d for %s; it was to stay away for %s",
				invariants.Who(s.Event), m.Seq, history.StreamSys, invariants.StepNo(s.Step), s.Delay, which)
		}
	}, Back: func(s *model.Step, m *model.Message) {
		if after := s.At - m.PutOff; after < m.Away-model.Slack {
			t.Violation(s.About, "its message %d of %s was delivered again at step %d, %s after it had been sent back; it was to stay away for %s",
				m.Seq, history.StreamSys, invariants.StepNo(s.Step), after, m.Away)
		}
	}, Ended: func(*invariants.End) {
		drawn := map[time.Duration]bool{}
		for _, d := range jitter {
			drawn[d] = true
		}
		if len(jitter) >= drawsThatDiffer && len(drawn) == 1 {
			t.Violation(nil, "%d messages were sent back with a jitter, which was %s each time", len(jitter), slices.Collect(maps.Keys(drawn))[0])
		}
	}}
})

var attemptsNeverPastCeiling = rule.New(invariants.Invariant{
	Name:   "attempts-never-past-ceiling",
	Says:   "A job's attempts never exceed the ceiling of scheduling retries. At the ceiling, the job becomes FAILED.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, max scheduling retries; Dead letters, retry ceiling before DLQ",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		if s.About.Attempts == w.Attempts {
			return
		}
		t.Exercise()
		if s.About.Attempts > f.Config.MaxSchedulingRetries {
			t.Violation(s.About, "attempts reached %d at step %d (%s); the ceiling is %d",
				s.About.Attempts, invariants.StepNo(s.Step), s.Phase, f.Config.MaxSchedulingRetries)
		}
	}, Audited: func(*invariants.End) { auditCeiling(f, t) }}
})
