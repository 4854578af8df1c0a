package model

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// BreakerChange is a change of state of a replica's circuit breaker. It is derived from what the replica read
// of the shared counter, and from the outcomes of its calls.
type BreakerChange struct {
	At      time.Duration
	Node    string
	Circuit string // "safety" or "output"
	State   string // "closed", "open" or "half-open"
	Alone   bool   // it uses its own counter
}

// policyFacts is what is known of the input policy and of the circuits.
type policyFacts struct {
	Counters [history.Circuits]sharedCounter
	leaves   map[caller]Leave
	Answers  map[caller]answer
	own      map[ownOf]*ownCounter
	All      [history.Circuits]ownCounter    // as if every failure and success that a replica reports were a process's own
	untold   []tale                          // results of calls whose callers have done nothing since
	owed     map[caller]int                  // failures that are yet to be counted
	late     map[caller]int                  // failures whose count failed, and may still arrive
	counted  int                             // the step at which one was last counted
	writing  map[caller]time.Duration        // processes that have their answers, since when, and have yet to write them to the shared counter
	Failed   [history.Circuits]time.Duration // when a call last failed, of any process
	shown    map[ownOf]BreakerChange
	Changes  []BreakerChange // what the circuit breakers of each replica did, in the order of time

	Throttled map[string]time.Duration // by job ID: when the kernel last throttled the job, unless the job waits for something else since
}

func NewPolicyFacts() policyFacts {
	return policyFacts{
		leaves: map[caller]Leave{}, Answers: map[caller]answer{}, own: map[ownOf]*ownCounter{}, owed: map[caller]int{}, late: map[caller]int{}, writing: map[caller]time.Duration{},
		shown: map[ownOf]BreakerChange{}, Throttled: map[string]time.Duration{},
	}
}

// caller is a process that has a call to make for a job.
type caller struct {
	Node        string
	Incarnation int
	Job         string
	Circuit     history.Circuit
}

// ownOf is a process's part in a circuit.
type ownOf struct {
	node        string
	incarnation int
	circuit     history.Circuit
}

// Leave is what a process found when it checked whether it may call.
type Leave struct {
	At      time.Duration
	Step    int
	State   string
	Alone   bool // by its own counter
	Used    bool // half-open, and its own probes were used up
	count   int  // the shared counter
	Window  int  // of the shared counter, if half-open
	batch   int  // of the probes in that window
	Claimed bool // it has counted its probe in that window
	Clearly bool // it was not within a millisecond of another state
	Called  bool // it has called since
}

// tale is the result of a call, which its caller has yet to report to the others.
type tale struct {
	caller
	leave  Leave
	failed bool
}

// answer is the result of a call.
type answer struct {
	Step        int
	Failed      bool
	Decision    string // "" for an error
	Snapshot    string // of the policy that decided
	Down        bool   // it failed, and the service is at fault
	Reason      string // as reported; "" if the decision is unknown
	Constraints map[string]string
	Asked       *history.Question // the request; nil if not known
	handles     bool              // the process that asked has the job in hand, under its lock
}

func (p *policyFacts) ownBy(e *sim.Event, c history.Circuit) *ownCounter {
	key := ownOf{e.Node, e.Incarnation, c}
	if p.own[key] == nil {
		p.own[key] = &ownCounter{}
	}
	return p.own[key]
}

// show notes the state in which a replica finds its circuit.
func (p *policyFacts) show(e *sim.Event, c history.Circuit, state string, alone bool) {
	key := ownOf{e.Node, 0, c}
	change := BreakerChange{At: e.At, Node: e.Node, Circuit: history.CircuitNames[c], State: state, Alone: alone}
	if was, ok := p.shown[key]; ok && was.State == state && was.Alone == alone {
		return
	}
	p.shown[key] = change
	p.Changes = append(p.Changes, change)
}

// BreakerChanged notes a change of a breaker's keys.
func (f *Facts) BreakerChanged(s *Step, c *sim.Change) {
	counter := &f.Policy.Counters[history.CircuitOf(c.Key)]
	if c.Gone && s.Phase == "breaker_write" {
		for _, check := range f.Hooks.CircuitClosed {
			check(s, history.CircuitOf(c.Key))
		}
	}
	was := counter.value
	counter.value, counter.expires = 0, 0
	if !c.Gone {
		counter.value, _ = strconv.Atoi(c.Value)
		counter.expires = c.Expires
	}
	if counter.value != was {
		counter.begin(s, was)
	}
	if s.Rewinds() {
		f.Policy.All[history.CircuitOf(c.Key)] = ownCounter{}
	}
	if counter.value > was && !s.Rewinds() {
		key := caller{s.Node, s.Incarnation, s.Job, history.CircuitOf(c.Key)}
		owed := f.Policy.owed
		if s.Kind == sim.KindLate {
			owed = f.Policy.late
		}
		for _, check := range f.Hooks.FailuresCounted {
			check(s, key.Circuit, was, counter.value, owed[key])
		}
		owed[key], f.Policy.counted = max(0, owed[key]-1), s.Step
	}
}

// ProbesChanged takes in a change of the calls that are counted in half-open: whoever counts one may not live to make it.
func (f *Facts) ProbesChanged(s *Step, c *sim.Change) {
	if c.Gone || s.Rewinds() {
		return
	}
	of, lasts := history.CircuitOf(c.Key), c.Expires-s.At
	for _, check := range f.Hooks.ProbeCounted {
		check(s, of, lasts)
	}
	f.Policy.Counters[of].probeClaimed(s.At, &f.Config.Policy)
}

// BreakerAsked notes an operation on the shared counter, or a call that it guards.
func (f *Facts) BreakerAsked(s *Step) {
	p := &f.Policy
	f.tells(s)
	if c, ok := history.Called(s.Name); ok && (s.Kind == sim.KindCall || s.Kind == sim.KindReturn) {
		f.calls(s, c)
		return
	}
	if !strings.HasPrefix(s.Phase, "breaker_") || s.Outcome == sim.OutcomePending || s.Kind == sim.KindLate {
		return
	}
	c := history.CircuitOf(s.Target)
	key := caller{s.Node, s.Incarnation, s.Job, c}
	if s.Failed || s.Name == "multi" {
		delete(p.writing, key)
	}
	if s.Failed && s.Phase == "breaker_write" && p.counted != s.Step && p.owed[key] > 0 { // nobody tries again to count it
		p.owed[key]--
		p.late[key]++
	}
	switch counter := &p.Counters[c]; s.Phase {
	case "breaker_read":
		l := Leave{At: s.At, Step: s.Step, count: counter.value, Window: counter.Window, batch: counter.batch}
		if l.State, l.Clearly = counter.State(s.At, &f.Config.Policy); s.Failed {
			l = f.alone(s, c)
			f.Reach(CountedAlone)
		}
		was := p.leaves[key]
		for _, check := range f.Hooks.CircuitRead {
			check(s, c, &was, &l)
		}
		p.leaves[key] = l
		delete(p.Answers, key) // it asks again, or finds that it may not
		p.show(s.Event, c, l.State, l.Alone)
		if l.State == history.Open {
			f.Reach(CircuitOpened)
			delete(p.Throttled, s.Job) // it waits for something else now
		}
	case "breaker_probe":
		l, ok := p.leaves[key]
		switch {
		case !ok:
			return
		case s.Failed, s.Outcome == history.TransactionFailed: // the probe cannot be counted, so the call is not made
			l.Clearly = false
		case s.Name == "multi":
			l.Claimed, l.Window, l.batch = true, counter.Window, counter.batch
		}
		p.leaves[key] = l
	case "breaker_write":
		if s.Failed || s.Outcome == history.TransactionFailed || s.Name != "multi" {
			return
		}
		switch state, _ := counter.State(s.At, &f.Config.Policy); {
		case counter.value == 0:
			if p.shown[ownOf{s.Node, 0, c}].State == history.HalfOpen {
				f.Reach(CircuitClosedAgain)
			}
			p.show(s.Event, c, history.Closed, false)
		case state == history.Open:
			p.show(s.Event, c, history.Open, false)
		}
	}
}

// alone is what a process finds by its own counter.
func (f *Facts) alone(s *Step, c history.Circuit) Leave {
	own := f.Policy.ownBy(s.Event, c)
	l := Leave{At: s.At, Step: s.Step, Alone: true, State: own.state(s.At, &f.Config.Policy)}
	l.Clearly = l.State != history.Open || s.At < own.OpenUntil-Slack
	if l.State == history.HalfOpen {
		l.Used = own.probes >= f.Config.Policy.HalfOpenMax
		own.probes++
	}
	return l
}

// calls notes that a call is made, its result, or both.
func (f *Facts) calls(s *Step, c history.Circuit) {
	p, cfg := &f.Policy, &f.Config.Policy
	key := caller{s.Node, s.Incarnation, s.Job, c}
	if s.Kind == sim.KindCall {
		l, looked := p.leaves[key]
		if !looked || !cfg.SharedBreaker {
			l = f.alone(s, c)
			// The process has checked some time ago. Other calls of it may have failed since.
			l.Clearly = l.Clearly && s.At-p.ownBy(s.Event, c).OpenSince > Doubt
			p.leaves[key] = l
			p.show(s.Event, c, l.State, true)
		}
		if l.State == history.Open && !l.Clearly { // then it has found it half-open
			l.State = history.HalfOpen
		}
		if l.State == history.HalfOpen {
			f.Reach(CircuitHalfOpened)
		}
		if counter := &p.Counters[c]; !l.Alone && l.State == history.HalfOpen && l.Window == counter.Window && l.batch == counter.batch {
			counter.Probes, counter.tried = append(counter.Probes, s.Step), true
		}
		for _, check := range f.Hooks.Calling {
			check(s, c, &l)
		}
		l.Called = true
		p.leaves[key] = l
	}
	if s.Outcome == sim.OutcomePending {
		return
	}
	l, own := p.leaves[key], p.ownBy(s.Event, c)
	if s.Failed && saysNothing(s.Outcome) {
		if l.Alone && l.State == history.HalfOpen {
			own.probes = max(0, own.probes-1)
		}
		p.Answers[key] = answer{Step: s.Step, Failed: true}
		return
	}
	if !l.Alone || !cfg.SharedBreaker { // a process that cannot reach the shared counter reports to nobody
		p.untold = append(p.untold, tale{key, l, s.Failed})
	}
	if s.Failed {
		own.fail(s.At, cfg)
		p.Failed[c] = s.At
		if c == history.CircuitSafety {
			f.putOff(s, false)
		}
		p.owed[key]++
		p.Answers[key] = answer{Step: s.Step, Failed: true, Down: true}
	} else {
		own.succeed(l.Alone, l.State == history.HalfOpen, s.Step, cfg)
		if !l.Alone && l.State == history.HalfOpen && l.Window == p.Counters[c].Window {
			p.Counters[c].Successes++
		}
		p.All[c].succeed(true, true, s.Step, cfg)
		p.Answers[key] = f.answered(s)
		if !l.Alone && (l.count > 0 || l.State == history.HalfOpen) {
			p.writing[key] = s.At
		}
	}
	if l.Alone {
		p.show(s.Event, c, own.state(s.At, cfg), true)
	}
}

// tells notes the results of calls once their callers go on with their jobs: a caller's next operation is to
// count the result. While a caller is paused nobody can know of its results, and if it dies nobody ever does.
// A caller that cannot count its result reports to nobody.
func (f *Facts) tells(s *Step) {
	counts := s.Phase == "breaker_write"
	f.Policy.untold = slices.DeleteFunc(f.Policy.untold, func(t tale) bool {
		switch {
		case t.Node != s.Node || t.Incarnation != s.Incarnation || t.Job != s.Job:
			return false
		case counts && s.Failed:
			return true
		case counts && (s.Name != "multi" || s.Outcome == sim.OutcomePending || s.Outcome == history.TransactionFailed):
			return false // it is at it
		}
		f.told(s, &t)
		return true
	})
}

// told counts a call for all replicas.
func (f *Facts) told(s *Step, t *tale) {
	all, counter, cfg := &f.Policy.All[t.Circuit], &f.Policy.Counters[t.Circuit], &f.Config.Policy
	if t.failed {
		all.fail(s.At, cfg)
		return
	}
	if all.Failures < cfg.FailBudget {
		*all = ownCounter{} // failures that were counted before the success was are forgotten as well
	}
	counter.inARow = slices.DeleteFunc(counter.inARow, func(step int) bool { return step < t.leave.Step })
	if t.leave.State == history.HalfOpen && t.leave.Window == counter.Window {
		if counter.told == nil {
			counter.told = map[ownOf]int{}
		}
		counter.told[ownOf{s.Node, s.Incarnation, t.Circuit}]++
	}
}

// saysNothing says whether the end of a call shows nothing about the service: its caller gave up, or the
// request was at fault.
func saysNothing(outcome string) bool {
	for _, words := range []string{"context canceled", "code = InvalidArgument", "code = OutOfRange", "message larger than max"} {
		if strings.Contains(outcome, words) {
			return true
		}
	}
	return false
}

// AnswersCutShort counts the answers that their callers could not use before the run ended: writing them to
// the shared counter takes a moment.
func (p *policyFacts) AnswersCutShort(c history.Circuit, end time.Duration) (n int) {
	for key, since := range p.writing {
		if key.Circuit == c && end-since < Doubt {
			n++
		}
	}
	return n
}

// putOff notes the end of a call about a job, and whether the safety kernel wants to be asked again later.
func (f *Facts) putOff(s *Step, is bool) {
	var since time.Duration
	delete(f.Policy.Throttled, s.Job)
	if is {
		since = s.At
		f.Policy.Throttled[s.Job] = since
		f.Reach(JobThrottled)
	}
	if s.About != nil {
		s.About.PutOff = since
		for i := range s.About.Messages {
			if m := &s.About.Messages[i]; m.found {
				m.astray, m.found = false, false
			}
		}
	}
}

// Told is what the safety kernel has told the step's process about the job in the present handling; asked
// says whether the handling has called the kernel at all.
func (f *Facts) Told(s *Step) (told answer, asked bool) {
	told, asked = f.ToldOf(s, s.About.ID)
	if told.Step < s.About.handledSince(s.Event) {
		return answer{}, false
	}
	return told, asked
}

// ToldOf is what the safety kernel has told the step's process of a job last; asked is whether that has called the kernel.
func (f *Facts) ToldOf(s *Step, id string) (told answer, asked bool) {
	told, asked = f.Policy.Answers[caller{s.Node, s.Incarnation, id, history.CircuitSafety}]
	return told, asked
}

// Refused says whether the step's process had to make no call about the job in the present handling, because
// it found the circuit open or half-open.
func (f *Facts) Refused(s *Step, c history.Circuit) bool {
	since := s.About.handledSince(s.Event)
	l, looked := f.Policy.leaves[caller{s.Node, s.Incarnation, s.About.ID, c}]
	if !f.Config.Policy.SharedBreaker || !looked || l.Step < since {
		own := f.Policy.ownBy(s.Event, c)
		return own.state(s.At, &f.Config.Policy) != history.Closed || own.closed > since
	}
	return l.State != history.Closed || !l.Clearly
}

// Denied is the step at which the safety kernel denied the compensation to the step's process, if the process
// has heard nothing of it since; otherwise 0.
func (f *Facts) Denied(s *Step, c *Compensation) int {
	a := f.Policy.Answers[caller{s.Node, s.Incarnation, c.As, history.CircuitSafety}]
	own := f.Policy.ownBy(s.Event, history.CircuitSafety)
	if a.Decision != history.DecisionDeny || a.handles || own.state(s.At, &f.Config.Policy) != history.Closed || own.closed > a.Step {
		return 0
	}
	return a.Step
}

// foundOpen says whether the step's handling found the safety kernel's circuit open.
func (f *Facts) foundOpen(s *Step) bool {
	l, looked := f.Policy.leaves[caller{s.Node, s.Incarnation, s.About.ID, history.CircuitSafety}]
	return looked && l.Step > s.Handling.Lock && l.State == history.Open && l.Clearly
}

// Unanswered says whether the step's handling wanted to make a call about the job, and has no answer, because
// the call failed or the circuit prevented it. It is false if that may have been the handling's own end.
func (f *Facts) Unanswered(s *Step, c history.Circuit) bool {
	key, since := caller{s.Node, s.Incarnation, s.About.ID, c}, s.About.handledSince(s.Event)
	l, looked := f.Policy.leaves[key]
	if a, asked := f.Policy.Answers[key]; asked && a.Step >= since {
		return a.Down
	}
	return looked && l.Step >= since && !l.Called && l.State != history.Closed && l.Clearly
}

// answered decodes the kernel's answer.
func (f *Facts) answered(s *Step) answer {
	said, err := history.Read[history.Verdict](s.Data)
	if s.Name != history.MethodCheck || err != nil {
		return answer{Step: s.Step}
	}
	a := answer{Step: s.Step, Decision: said.Input(), Snapshot: said.Snapshot, Constraints: said.Constraints, Asked: history.QuestionOf(s.Event), handles: s.Handling != nil}
	if said.Known() {
		a.Reason = said.Reason
	}
	f.putOff(s, a.Decision == history.DecisionThrottle)
	if s.About != nil && a.Decision == history.DecisionDeny {
		s.About.Saga.Denied = true
	}
	return a
}

// Throttled says whether a job waits rightly because the safety kernel throttles it, and the time in which it
// is to be asked again is not over.
func (f *Facts) Throttled(j *Job, at time.Duration) bool {
	if j.State != Pending || j.PutOff == 0 {
		return false
	}
	within := at - j.PutOff
	return f.PutOff(j, at) || f.Config.PendingReplayer && within <= f.Config.PendingAge+4*f.Config.PollInterval+f.Config.JobLockTTL
}

// PutOff says whether a throttled job's request is to be redelivered in time.
func (f *Facts) PutOff(j *Job, at time.Duration) bool {
	return j.PutOff != 0 && RequestLeft(j) && at-j.PutOff <= f.Config.ThrottledFor()
}

// comesAgain says whether a request of the job was sent back, and may still be delayed when a replayer
// handles the job, because the replayer's age is shorter than the longest delay.
func (f *Facts) comesAgain(j *Job, at time.Duration) bool {
	longest := f.Config.BackoffMax + f.Config.JobLockTTL
	return min(f.Config.PendingAge, f.Config.ScheduledAge) < longest && slices.ContainsFunc(j.Messages, func(m Message) bool {
		return m.asks() && m.PutOff != 0 && !m.Done && !m.Lost && !m.Abandoned && at-m.PutOff <= longest
	})
}

// LeftToReplayer says whether only the replayer can ask about a job in time: the delivery of its request was
// lost, or the answer to it, and JetStream waits for the answer.
func (f *Facts) LeftToReplayer(j *Job) bool {
	return f.Config.PendingReplayer && slices.ContainsFunc(j.Messages, func(m Message) bool { return m.asks() && m.astray })
}

// RequestLeft says whether a request of the job is still to be delivered.
func RequestLeft(j *Job) bool {
	return slices.ContainsFunc(j.Messages, func(m Message) bool {
		return m.asks() && !m.Done && !m.Lost && !m.Abandoned
	})
}
