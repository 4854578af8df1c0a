package policies

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var noCheckWhileCircuitOpen = rule.New(invariants.Invariant{
	Name:   "no-check-while-circuit-open",
	Says:   "A replica makes no call if it last read in the shared counter that the circuit is open. With shared_probes, it makes no call in half-open that it has not counted in the shared counter.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 6, behavior when circuit is open, and multi-replica state",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Calling: func(s *model.Step, c history.Circuit, l *model.Leave) {
		if l.Alone {
			return
		}
		t.Exercise()
		switch {
		case l.State == history.Open && l.Clearly:
			t.Violation(s.About, "%s asked the %s at step %d, although it had read at step %d that the %s circuit was open", invariants.Who(s.Event), history.Services[c], invariants.StepNo(s.Step), invariants.StepNo(l.Step), history.CircuitNames[c])
		case l.State == history.HalfOpen && l.Clearly && f.Config.Policy.SharedProbes && !l.Claimed:
			t.Violation(s.About, "%s asked the %s at step %d, while the %s circuit was half-open, without having counted that", invariants.Who(s.Event), history.Services[c], invariants.StepNo(s.Step), history.CircuitNames[c])
		}
	}}
})

var openCircuitStopsEveryReplica = rule.New(invariants.Invariant{
	Name:   "open-circuit-stops-every-replica",
	Says:   "Once as many calls in a row have failed as the budget allows, no replica makes another call until the circuit has been open for its time. Failures of all replicas count together. A failure counts once the replica that met it goes on. It does not count while that replica cannot read or write the shared counter, or once Redis has forgotten it.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 6: all replicas observe the open state simultaneously",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Calling: func(s *model.Step, c history.Circuit, l *model.Leave) {
		all := &f.Policy.All[c]
		if all.Failures < f.Config.Policy.FailBudget {
			return
		}
		t.Exercise()
		if l.At-all.OpenSince > model.Doubt && l.At < all.OpenUntil-model.Doubt {
			t.Violation(s.About, "%s asked the %s at step %d, %s after the last of %d calls in a row that had failed; the %s circuit was to be open for %s",
				invariants.Who(s.Event), history.Services[c], invariants.StepNo(s.Step), (s.At - all.Failed).Truncate(time.Millisecond), all.Failures, history.CircuitNames[c], f.Config.Policy.OpenFor)
		}
	}}
})

var halfOpenProbesWithinLimit = rule.New(invariants.Invariant{
	Name:   "half-open-probes-within-limit",
	Says:   "In one half-open window of a circuit, all replicas together make no more calls than engine.policy.circuit_half_open_max. A replica that has lost Redis counts alone.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 6: allow up to 3 probe requests",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Calling: func(s *model.Step, c history.Circuit, l *model.Leave) {
		counter := &f.Policy.Counters[c]
		if l.Alone || l.State != history.HalfOpen || !l.Clearly || l.Window != counter.Window {
			return
		}
		t.Exercise()
		if limit := f.Config.Policy.HalfOpenMax; len(counter.Probes) > limit {
			t.Violation(s.About, "%s asked the %s at step %d, as the %s probe of one half-open window of the %s circuit; the limit is %d, and the probes before it were steps %s",
				invariants.Who(s.Event), history.Services[c], invariants.StepNo(s.Step), invariants.Ordinal(len(counter.Probes)), history.CircuitNames[c], limit, invariants.StepList(counter.Probes[:limit]))
		}
	}}
})

var halfOpenClosesOnSuccesses = rule.New(invariants.Invariant{
	Name:   "half-open-closes-on-successes",
	Says:   "A replica closes a half-open circuit only once circuit_close_after calls of that window have succeeded. With shared_probes the calls of all replicas count together; otherwise those of one replica count. Once these calls have succeeded and their replicas have gone on, no replica finds the circuit half-open.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 6: close after 2 successes",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{CircuitRead: func(s *model.Step, c history.Circuit, _, is *model.Leave) {
		if is.State != history.HalfOpen || !is.Clearly || is.Alone {
			return
		}
		t.Exercise()
		if n, enough := f.Policy.Counters[c].Enough(&f.Config.Policy); enough {
			t.Violation(s.About, "%s found the %s circuit half-open at step %d, after %s of its window had succeeded; it takes %d to close it",
				invariants.Who(s.Event), history.CircuitNames[c], invariants.StepNo(s.Step), invariants.CountOf(n, "call", "calls"), f.Config.Policy.CloseAfter)
		}
	}, CircuitClosed: func(s *model.Step, c history.Circuit) {
		counter := &f.Policy.Counters[c]
		if state, clearly := counter.State(s.At, &f.Config.Policy); state != history.HalfOpen || !clearly {
			return
		}
		t.Exercise()
		if counter.Successes < f.Config.Policy.CloseAfter {
			t.Violation(s.About, "%s closed the half-open %s circuit at step %d, after %s of its window had succeeded; it takes %d",
				invariants.Who(s.Event), history.CircuitNames[c], invariants.StepNo(s.Step), invariants.CountOf(counter.Successes, "call", "calls"), f.Config.Policy.CloseAfter)
		}
	}}
})

var replicaAloneKeepsItsBudget = rule.New(invariants.Invariant{
	Name:   "replica-alone-keeps-its-budget",
	Says:   "A replica that uses its own counter makes no call while that counter says that the circuit is open. In half-open it makes no more probes than the limit.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 6: if Redis is unavailable, each replica falls back to local-only circuit breaker tracking",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Calling: func(s *model.Step, c history.Circuit, l *model.Leave) {
		if !l.Alone {
			return
		}
		t.Exercise()
		switch {
		case l.State == history.Open && l.Clearly:
			t.Violation(s.About, "%s asked the %s at step %d, although by its own count of failures the %s circuit was open", invariants.Who(s.Event), history.Services[c], invariants.StepNo(s.Step), history.CircuitNames[c])
		case l.Used:
			t.Violation(s.About, "%s asked the %s at step %d, although its probes of the half-open %s circuit were used up", invariants.Who(s.Event), history.Services[c], invariants.StepNo(s.Step), history.CircuitNames[c])
		}
	}}
})

var circuitOpensOnFailuresAlone = rule.New(invariants.Invariant{
	Name:   "circuit-opens-on-failures-alone",
	Says:   "Each failed call raises the shared counter of failures by one, and nothing else raises it. Only failures in a row fill the budget. A call that succeeds ends the row of the failures before it, if its replica can tell the others.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 6: open after 3 failures",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{FailuresCounted: func(s *model.Step, c history.Circuit, was, is, owed int) {
		t.Exercise()
		who, circuit, at := invariants.Who(s.Event), history.CircuitNames[c], invariants.StepNo(s.Step)
		n, filled := f.Policy.Counters[c].Filled(was, &f.Config.Policy)
		switch budget := f.Config.Policy.FailBudget; {
		case owed == 0:
			t.Violation(s.About, "%s counted a failure of the %s circuit at step %d, although no call of its that was yet to be counted had failed", who, circuit, at)
		case is-was != 1:
			t.Violation(s.About, "%s counted %d failures of the %s circuit at step %d for one call", who, is-was, circuit, at)
		case filled && n < budget:
			t.Violation(s.About, "%s opened the %s circuit at step %d, after %s since the last call that had succeeded; it takes %d in a row", who, circuit, at, invariants.CountOf(n, "failure", "failures"), budget)
		}
	}}
})

// A failure is counted within the time of one Redis operation, unless its process is paused or the write is late.
var openCircuitEnds = rule.New(invariants.Invariant{
	Name:   "open-circuit-ends",
	Says:   "A replica finds a circuit open only within circuit_open_for of a failed call.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 6: open for 30s",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{CircuitRead: func(s *model.Step, c history.Circuit, _, is *model.Leave) {
		if is.State != history.Open || !is.Clearly || is.Alone {
			return
		}
		t.Exercise()
		if ago := s.At - f.Policy.Failed[c]; ago > f.Config.Policy.OpenFor+2*model.Doubt {
			t.Violation(s.About, "%s found the %s circuit open at step %d, %s after the last call that had failed; it is to be open for %s",
				invariants.Who(s.Event), history.CircuitNames[c], invariants.StepNo(s.Step), ago.Truncate(time.Millisecond), f.Config.Policy.OpenFor)
		}
	}}
})

var closedCircuitLetsCallsThrough = rule.New(invariants.Invariant{
	Name:   "closed-circuit-lets-calls-through",
	Says:   "A replica that finds the circuit closed, or half-open with no probe under way, makes its call.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 6: the circuit's states",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{CircuitRead: func(s *model.Step, c history.Circuit, was, _ *model.Leave) {
		untried := was.State == history.HalfOpen && !was.Alone && f.Policy.Counters[c].Untried(was.Window)
		if was.State != history.Closed && !untried || !was.Clearly || s.At-was.At <= model.Doubt || s.About != nil && s.About.Mixed {
			return
		}
		t.Exercise()
		if !was.Called {
			t.Violation(s.About, "%s had found the %s circuit %s at step %d, and has made no call since", invariants.Who(s.Event), history.CircuitNames[c], was.State, invariants.StepNo(was.Step))
		}
	}}
})

var probesAreForgottenInTime = rule.New(invariants.Invariant{
	Name:   "probes-are-forgotten-in-time",
	Says:   "The counter of the calls that a half-open circuit lets through expires circuit_open_for after it was last raised.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 6: allow up to 3 probe requests; hardened, all replicas count them in one key",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{ProbeCounted: func(s *model.Step, c history.Circuit, lasts time.Duration) {
		t.Exercise()
		who, circuit, at, should := invariants.Who(s.Event), history.CircuitNames[c], invariants.StepNo(s.Step), f.Config.Policy.OpenFor
		switch {
		case lasts < 0:
			t.Violation(s.About, "%s counted a probe of the %s circuit at step %d that is never forgotten; it should be after %s", who, circuit, at, should)
		case lasts < should-model.Slack, lasts > should+model.Slack:
			t.Violation(s.About, "%s counted a probe of the %s circuit at step %d that is forgotten after %s; it should be after %s", who, circuit, at, lasts, should)
		}
	}}
})
