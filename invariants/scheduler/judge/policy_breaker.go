package judge

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"
)

var noCheckWhileCircuitOpen = checking(invariants.Invariant{
	Name:   "no-check-while-circuit-open",
	Says:   "A replica that last read of the shared counter that the circuit is open makes no call; with shared_probes it makes none in half-open that it has not counted there.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 6, behavior when circuit is open, and multi-replica state",
}, func(f *facts, t *tally) checker {
	f.policy.asking = append(f.policy.asking, func(s *step, c history.Circuit, l *leave) {
		if l.alone {
			return
		}
		t.exercise()
		switch {
		case l.state == history.Open && l.clearly:
			t.violated(s.about, "%s asked %s at step %d, although it had read at step %d that the %s circuit was open", invariants.Who(s.Event), s.Target, s.Step, l.step, history.CircuitNames[c])
		case l.state == history.HalfOpen && l.clearly && f.config.Policy.SharedProbes && !l.claimed:
			t.violated(s.about, "%s asked %s at step %d, while the %s circuit was half-open, without having counted that", invariants.Who(s.Event), s.Target, s.Step, history.CircuitNames[c])
		}
	})
	return checker{}
})

var openCircuitStopsEveryReplica = checking(invariants.Invariant{
	Name:   "open-circuit-stops-every-replica",
	Says:   "Once as many calls in a row have failed as the budget allows, whoever's they were, no replica makes another before the circuit has been open for its time.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 6: all replicas observe the open state simultaneously",
}, func(f *facts, t *tally) checker {
	f.policy.asking = append(f.policy.asking, func(s *step, c history.Circuit, l *leave) {
		all := &f.policy.all[c]
		if all.failures < f.config.Policy.FailBudget {
			return
		}
		t.exercise()
		if l.at-all.openSince > doubt && l.at < all.openUntil-doubt {
			t.violated(s.about, "%s asked %s at step %d, %s after the last of %d calls in a row that had failed; the %s circuit was to be open for %s",
				invariants.Who(s.Event), s.Target, s.Step, (s.At - all.failed).Truncate(time.Millisecond), all.failures, history.CircuitNames[c], f.config.Policy.OpenFor)
		}
	})
	return checker{}
})

var halfOpenProbesWithinLimit = checking(invariants.Invariant{
	Name:   "half-open-probes-within-limit",
	Says:   "In one half-open window at most circuit_half_open_max calls go out, of all replicas that share the counter together.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 6: allow up to 3 probe requests",
}, func(f *facts, t *tally) checker {
	f.policy.asking = append(f.policy.asking, func(s *step, c history.Circuit, l *leave) {
		counter := &f.policy.counters[c]
		if l.alone || l.state != history.HalfOpen || !l.clearly || l.window != counter.window {
			return
		}
		t.exercise()
		if limit := f.config.Policy.HalfOpenMax; len(counter.probes) > limit {
			t.violated(s.about, "%s asked %s at step %d, as the %s probe of one half-open window of the %s circuit; the limit is %d, and they were of the steps %s",
				invariants.Who(s.Event), s.Target, s.Step, ordinal(len(counter.probes)), history.CircuitNames[c], limit, invariants.StepList(counter.probes[:limit]))
		}
	})
	return checker{}
})

var halfOpenClosesOnSuccesses = checking(invariants.Invariant{
	Name:   "half-open-closes-on-successes",
	Says:   "A circuit that is half-open is closed only once circuit_close_after calls of that window have succeeded.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 6: close after 2 successes",
}, func(f *facts, t *tally) checker {
	f.policy.closing = func(s *step, c history.Circuit) {
		counter := &f.policy.counters[c]
		if state, clearly := counter.state(s.At, &f.config.Policy); state != history.HalfOpen || !clearly {
			return
		}
		t.exercise()
		if counter.successes < f.config.Policy.CloseAfter {
			t.violated(s.about, "%s closed the half-open %s circuit at step %d, after %s of its window had succeeded; it takes %d",
				invariants.Who(s.Event), history.CircuitNames[c], s.Step, invariants.CountOf(counter.successes, "call", "calls"), f.config.Policy.CloseAfter)
		}
	}
	return checker{}
})

var replicaAloneKeepsItsBudget = checking(invariants.Invariant{
	Name:   "replica-alone-keeps-its-budget",
	Says:   "A replica that goes by its own counter makes no call while that says open, and no more probes in half-open than the limit.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 6: if Redis is unavailable, each replica falls back to local-only circuit breaker tracking",
}, func(f *facts, t *tally) checker {
	f.policy.asking = append(f.policy.asking, func(s *step, c history.Circuit, l *leave) {
		if !l.alone {
			return
		}
		t.exercise()
		switch {
		case l.state == history.Open && l.clearly:
			t.violated(s.about, "%s asked %s at step %d, although by its own count of failures the %s circuit was open", invariants.Who(s.Event), s.Target, s.Step, history.CircuitNames[c])
		case l.used:
			t.violated(s.about, "%s asked %s at step %d, although its probes of the half-open %s circuit were used up", invariants.Who(s.Event), s.Target, s.Step, history.CircuitNames[c])
		}
	})
	return checker{}
})

var circuitOpensOnFailuresAlone = checking(invariants.Invariant{
	Name:   "circuit-opens-on-failures-alone",
	Says:   "The shared counter of failures rises for a call that has failed, by one for each, and for nothing else.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 6: open after 3 failures",
}, func(f *facts, t *tally) checker {
	f.policy.counting = func(s *step, c history.Circuit, n, owed int) {
		t.exercise()
		switch {
		case owed == 0:
			t.violated(s.about, "%s counted a failure of the %s circuit at step %d, although no call of its that was yet to be counted had failed", invariants.Who(s.Event), history.CircuitNames[c], s.Step)
		case n != 1:
			t.violated(s.about, "%s counted %d failures of the %s circuit at step %d for one call", invariants.Who(s.Event), n, history.CircuitNames[c], s.Step)
		}
	}
	return checker{}
})

// A failure is counted within the time of one Redis operation, unless its process is paused or the write is late.
var openCircuitEnds = checking(invariants.Invariant{
	Name:   "open-circuit-ends",
	Says:   "A circuit is found open only within circuit_open_for of a call that failed.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 6: open for 30s",
}, func(f *facts, t *tally) checker {
	f.policy.looking = append(f.policy.looking, func(s *step, c history.Circuit, _, is *leave) {
		if is.state != history.Open || !is.clearly || is.alone {
			return
		}
		t.exercise()
		if ago := s.At - f.policy.failed[c]; ago > f.config.Policy.OpenFor+2*doubt {
			t.violated(s.about, "%s found the %s circuit open at step %d, %s after the last call that had failed; it is to be open for %s",
				invariants.Who(s.Event), history.CircuitNames[c], s.Step, ago.Truncate(time.Millisecond), f.config.Policy.OpenFor)
		}
	})
	return checker{}
})

var closedCircuitLetsCallsThrough = checking(invariants.Invariant{
	Name:   "closed-circuit-lets-calls-through",
	Says:   "Who finds the circuit closed makes its call.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 6: the circuit's states",
}, func(f *facts, t *tally) checker {
	f.policy.looking = append(f.policy.looking, func(s *step, c history.Circuit, was, _ *leave) {
		if was.state != history.Closed || !was.clearly || s.At-was.at <= doubt {
			return
		}
		t.exercise()
		if !was.called {
			t.violated(s.about, "%s had found the %s circuit closed at step %d, and has made no call since", invariants.Who(s.Event), history.CircuitNames[c], was.step)
		}
	})
	return checker{}
})
