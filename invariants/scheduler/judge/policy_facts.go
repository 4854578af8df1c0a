package judge

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/sim"
)

// BreakerChange is a replica's circuit breaker coming to be in a state, as what the replica read of the
// shared counter, and what became of its calls, say.
type BreakerChange struct {
	At      time.Duration
	Node    string
	Circuit string // "safety" or "output"
	State   string // "closed", "open" or "half-open"
	Alone   bool   // it goes by its own counter
}

// Breakers lists what each replica's circuit breakers did, in the order of time.
func (j *observer) Breakers() []BreakerChange { return j.facts.policy.changes }

// policyFacts is what is known of the input policy and of the circuits.
type policyFacts struct {
	counters [history.Circuits]sharedCounter
	leaves   map[caller]leave
	answers  map[caller]answer
	own      map[ownOf]*ownCounter
	all      [history.Circuits]ownCounter    // as if every failure were one's own
	owed     map[caller]int                  // failures that are yet to be counted
	counted  int                             // the step at which one was last
	writing  map[caller]time.Duration        // who has its answer, since when, and is to write that to the shared counter
	failed   [history.Circuits]time.Duration // when a call last failed, whoever's it was
	shown    map[ownOf]BreakerChange
	changes  []BreakerChange

	throttled map[string]time.Duration // when the kernel last told that of a job, by its id, unless the job waits for something else since

	asking   []func(*step, history.Circuit, *leave)             // a call sets out
	looking  []func(s *step, c history.Circuit, was, is *leave) // somebody reads the shared counter; was is what it found before
	counting func(s *step, c history.Circuit, n, owed int)      // somebody counts n failures
	closing  func(*step, history.Circuit)                       // somebody deletes the shared counter
}

func newPolicyFacts() policyFacts {
	return policyFacts{
		leaves: map[caller]leave{}, answers: map[caller]answer{}, own: map[ownOf]*ownCounter{}, owed: map[caller]int{}, writing: map[caller]time.Duration{},
		shown: map[ownOf]BreakerChange{}, throttled: map[string]time.Duration{},
	}
}

// caller is a process that has a call to make for a job.
type caller struct {
	node        string
	incarnation int
	job         string
	circuit     history.Circuit
}

// ownOf is a process's part in a circuit.
type ownOf struct {
	node        string
	incarnation int
	circuit     history.Circuit
}

// leave is what a process found when it looked whether it may call.
type leave struct {
	at      time.Duration
	step    int
	state   string
	alone   bool // by its own counter
	used    bool // half-open, and its own probes were used up
	count   int  // the shared counter
	window  int  // of the shared counter, in half-open
	claimed bool // it has counted its probe in that
	clearly bool // it was not within a millisecond of being in another state
	called  bool // it has called since
}

// answer is what a call brought.
type answer struct {
	decision    string // "" for an error
	constraints map[string]string
}

func (p *policyFacts) ownBy(e *sim.Event, c history.Circuit) *ownCounter {
	key := ownOf{e.Node, e.Incarnation, c}
	if p.own[key] == nil {
		p.own[key] = &ownCounter{}
	}
	return p.own[key]
}

// show notes what state a replica finds its circuit in.
func (p *policyFacts) show(e *sim.Event, c history.Circuit, state string, alone bool) {
	key := ownOf{e.Node, 0, c}
	change := BreakerChange{At: e.At, Node: e.Node, Circuit: history.CircuitNames[c], State: state, Alone: alone}
	if was, ok := p.shown[key]; ok && was.State == state && was.Alone == alone {
		return
	}
	p.shown[key] = change
	p.changes = append(p.changes, change)
}

// breakerChanged takes in a change of a breaker's keys.
func (f *facts) breakerChanged(s *step, c *sim.Change) {
	if !strings.HasSuffix(c.Key, history.FailuresSuffix) {
		return
	}
	counter := &f.policy.counters[history.CircuitOf(c.Key)]
	if c.Gone && s.Phase == "breaker_write" && f.policy.closing != nil {
		f.policy.closing(s, history.CircuitOf(c.Key))
	}
	was := counter.value
	counter.value, counter.expires = 0, 0
	if !c.Gone {
		counter.value, _ = strconv.Atoi(c.Value)
		counter.expires = c.Expires
	}
	if counter.value != was {
		counter.window++
		counter.probes, counter.successes = nil, 0
	}
	if counter.value > was && f.policy.counting != nil {
		key := caller{s.Node, s.Incarnation, s.Job, history.CircuitOf(c.Key)}
		f.policy.counting(s, key.circuit, counter.value-was, f.policy.owed[key])
		f.policy.owed[key], f.policy.counted = max(0, f.policy.owed[key]-1), s.Step
	}
}

// breakerAsked takes in an operation on the shared counter, or a call that it guards.
func (f *facts) breakerAsked(s *step) {
	p := &f.policy
	if c, ok := history.Called(s.Name); ok && (s.Kind == sim.KindCall || s.Kind == sim.KindReturn) {
		f.calls(s, c)
		return
	}
	if !strings.HasPrefix(s.Phase, "breaker_") || s.Outcome == sim.OutcomePending || s.Kind == sim.KindLate {
		return
	}
	c := history.CircuitOf(s.Target)
	key := caller{s.Node, s.Incarnation, s.Job, c}
	if s.failed || s.Name == "multi" {
		delete(p.writing, key)
	}
	if s.failed && s.Phase == "breaker_write" && p.counted != s.Step { // nobody tries again to count it
		p.owed[key] = max(0, p.owed[key]-1)
	}
	switch counter := &p.counters[c]; s.Phase {
	case "breaker_read":
		l := leave{at: s.At, step: s.Step, count: counter.value, window: counter.window}
		if l.state, l.clearly = counter.state(s.At, &f.config.Policy); s.failed {
			l = f.alone(s, c)
			f.reach(countedAlone)
		}
		was := p.leaves[key]
		for _, check := range p.looking {
			check(s, c, &was, &l)
		}
		p.leaves[key] = l
		p.show(s.Event, c, l.state, l.alone)
		if l.state == history.Open {
			f.reach(circuitOpened)
			delete(p.throttled, s.Job) // it waits for something else now
		}
	case "breaker_probe":
		if l, ok := p.leaves[key]; ok && s.Name == "multi" && !s.failed && s.Outcome != history.TransactionFailed {
			l.claimed, l.window = true, counter.window
			p.leaves[key] = l
		}
	case "breaker_write":
		if s.failed || s.Outcome == history.TransactionFailed || s.Name != "multi" {
			return
		}
		switch state, _ := counter.state(s.At, &f.config.Policy); {
		case counter.value == 0:
			if p.shown[ownOf{s.Node, 0, c}].State == history.HalfOpen {
				f.reach(circuitClosedAgain)
			}
			p.show(s.Event, c, history.Closed, false)
		case state == history.Open:
			p.show(s.Event, c, history.Open, false)
		}
	}
}

// alone is what a process finds by its own counter.
func (f *facts) alone(s *step, c history.Circuit) leave {
	own := f.policy.ownBy(s.Event, c)
	l := leave{at: s.At, step: s.Step, alone: true, state: own.state(s.At, &f.config.Policy)}
	l.clearly = l.state != history.Open || s.At < own.openUntil-slack
	if l.state == history.HalfOpen {
		l.used = own.probes >= f.config.Policy.HalfOpenMax
		own.probes++
	}
	return l
}

// calls takes in a call that sets out, or what it brought, or both.
func (f *facts) calls(s *step, c history.Circuit) {
	p, cfg := &f.policy, &f.config.Policy
	key := caller{s.Node, s.Incarnation, s.Job, c}
	if s.Kind == sim.KindCall {
		l, looked := p.leaves[key]
		if !looked || !cfg.SharedBreaker {
			l = f.alone(s, c)
			// It looked some time ago, before others of its calls may have failed.
			l.clearly = l.clearly && s.At-p.ownBy(s.Event, c).openSince > doubt
			p.leaves[key] = l
			p.show(s.Event, c, l.state, true)
		}
		if l.state == history.Open && !l.clearly { // it has found it half-open, then
			l.state = history.HalfOpen
		}
		if l.state == history.HalfOpen {
			f.reach(circuitHalfOpened)
		}
		if !l.alone && l.state == history.HalfOpen && l.window == p.counters[c].window {
			p.counters[c].probes = append(p.counters[c].probes, s.Step)
		}
		for _, check := range p.asking {
			check(s, c, &l)
		}
		l.called = true
		p.leaves[key] = l
	}
	if s.Outcome == sim.OutcomePending {
		return
	}
	l, own := p.leaves[key], p.ownBy(s.Event, c)
	if s.failed && saysNothing(s.Outcome) {
		if l.alone && l.state == history.HalfOpen {
			own.probes = max(0, own.probes-1)
		}
		p.answers[key] = answer{}
		return
	}
	if s.failed {
		own.fail(s.At, cfg)
		if all := &p.all[c]; s.At-all.failed > 2*cfg.OpenFor-doubt || all.failures < cfg.FailBudget && s.At-all.failed > cfg.OpenFor {
			*all = ownCounter{} // by now the earlier ones may have been forgotten
		}
		p.all[c].fail(s.At, cfg)
		p.failed[c] = s.At
		if c == history.CircuitSafety {
			f.putOff(s, false)
		}
		p.owed[key]++
		p.answers[key] = answer{}
	} else {
		own.succeed(&l, cfg)
		if !l.alone && l.state == history.HalfOpen && l.window == p.counters[c].window {
			p.counters[c].successes++
		}
		p.all[c] = ownCounter{}
		p.answers[key] = f.answered(s)
		if !l.alone && (l.count > 0 || l.state == history.HalfOpen) {
			p.writing[key] = s.At
		}
	}
	if l.alone {
		p.show(s.Event, c, own.state(s.At, cfg), true)
	}
}

// saysNothing is of a call's end that tells nothing of the service: its caller gave up, or the request was at fault.
func saysNothing(outcome string) bool {
	for _, words := range []string{"context canceled", "code = InvalidArgument", "code = ResourceExhausted", "code = OutOfRange", "code = FailedPrecondition"} {
		if strings.Contains(outcome, words) {
			return true
		}
	}
	return false
}

// answersCutShort counts the answers that the end of the run kept their callers from going on with: what they write
// of them takes a moment.
func (p *policyFacts) answersCutShort(c history.Circuit, end time.Duration) (n int) {
	for key, since := range p.writing {
		if key.circuit == c && end-since < doubt {
			n++
		}
	}
	return n
}

// putOff takes in the end of a call about a job: whether the safety kernel wants to be asked again later.
func (f *facts) putOff(s *step, is bool) {
	var since time.Duration
	delete(f.policy.throttled, s.Job)
	if is {
		since = s.At
		f.policy.throttled[s.Job] = since
		f.reach(jobThrottled)
	}
	if s.about != nil {
		s.about.putOff = since
	}
}

// answered decodes what the kernel said.
func (f *facts) answered(s *step) answer {
	var said struct {
		Decision    int               `json:"decision"`
		Constraints map[string]string `json:"constraints"`
	}
	if s.Name != history.MethodCheck || json.Unmarshal([]byte(s.Data), &said) != nil {
		return answer{}
	}
	a := answer{decision: history.DecisionDeny, constraints: said.Constraints}
	if said.Decision > 0 && said.Decision < len(history.DecisionNames) {
		a.decision = history.DecisionNames[said.Decision]
	}
	f.putOff(s, a.decision == history.DecisionThrottle)
	return a
}

// CircuitOpen says whether the node's calls of the safety kernel are being held back.
func (j *observer) CircuitOpen(node string) bool {
	for _, c := range slices.Backward(j.facts.policy.changes) {
		if c.Node == node && c.Circuit == history.CircuitNames[history.CircuitSafety] {
			return c.State != history.Closed
		}
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
	return requestLeft(j) && within <= f.config.ThrottledFor() || f.config.PendingReplayer && within <= f.config.PendingAge+4*f.config.PollInterval+f.config.JobLockTTL
}

// requested says whether a request of the job is left to be delivered.
func requestLeft(j *job) bool {
	return slices.ContainsFunc(j.messages, func(m message) bool {
		return m.consumer == history.ConsumerSubmit && !m.done && !m.lost && !m.abandoned
	})
}
