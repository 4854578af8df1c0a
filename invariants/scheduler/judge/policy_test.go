package judge

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

const failuresKey = "cordum:cb:safety:failures"

// guarded is a world with a safety kernel; shared counts the probes together too.
var (
	guarded = config.Config{Policy: config.PolicyConfig{Kernel: true, SharedBreaker: true}}
	shared  = config.Config{Policy: config.PolicyConfig{Kernel: true, SharedBreaker: true, SharedProbes: true}}
	apart   = config.Config{Policy: config.PolicyConfig{Kernel: true}}
)

// readsCounter is a read of the shared counter.
func (s *story) readsCounter(node, job string) *story {
	return s.add(node, sim.KindRedis, "multi", failuresKey, job, "breaker_read")
}

// calls is a call that sets out.
func (s *story) calls(node, job string) *story {
	return s.add(node, sim.KindCall, "Check", "kernel", job, "safety_check").unseen()
}

// hears is what a call brings; 0 is an error.
func (s *story) hears(node, job string, decision int) *story {
	s.add(node, sim.KindReturn, "Check", "kernel", job, "safety_check")
	if decision == 0 {
		return s.fails()
	}
	s.last().Data = fmt.Sprintf(`{"decision":%d}`, decision)
	return s
}

// counts is a write of the shared counter; 0 is its removal.
func (s *story) counts(node, job string, failures int) *story {
	c := sim.Change{Key: failuresKey, Gone: true}
	if failures > 0 {
		c = sim.Change{Key: failuresKey, Value: strconv.Itoa(failures), Expires: s.at + time.Millisecond + 30*time.Second + model.CountKept}
	}
	return s.add(node, sim.KindRedis, "multi", failuresKey, job, "breaker_write", c)
}

// claimsProbe is a probe that is counted.
func (s *story) claimsProbe(node, job string) *story {
	return s.add(node, sim.KindRedis, "multi", "cordum:cb:safety:probes", job, "breaker_probe", sim.Change{Key: "cordum:cb:safety:probes", Value: "1"})
}

// trips is three calls that fail.
func (s *story) trips(node string) *story {
	for i := range 3 {
		job := "job-" + strconv.Itoa(11+i)
		s.readsCounter(node, job).calls(node, job).hears(node, job, 0).counts(node, job, i+1)
	}
	return s
}

// decided is a handling up to its SCHEDULED write, with that decision.
func (s *story) decided(node, job, decision string) *story {
	return s.write(node, job, "scheduled_write", "SCHEDULED", "attempts", strconv.Itoa(s.attempts(job)+1), "decision", decision)
}

// letThrough is a job that the kernel allows.
func letThrough(s *story) {
	s.submit(job1).lock(s1, job1).read(s1, job1).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 1).decided(s1, job1, "ALLOW").
		intended(s1, job1, w1).publish(s1, job1, w1)
}

// asked is a job that the kernel allows once it was asked that, with the hash of the job's request.
func asked(s *story, question string) *story {
	const packet = `{"job_id":"job-1","topic":"job.a","tenant":"acme","requires":["gpu"]}`
	s.write("submitter", job1, "submit_write", "PENDING", "attempts", "0", "request", packet)
	s.lock(s1, job1).read(s1, job1).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 1).
		asking(question, history.ReadRequest(packet).Hash())
	return s.decided(s1, job1, "ALLOW")
}

func deniedAtOnce(s *story) {
	s.submit(job1).lock(s1, job1).read(s1, job1).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 4).
		write(s1, job1, "denied_write", "DENIED", "decision", "DENY", "reason_code", "safety_denied")
}

// throttled is a job that the kernel wants to be asked about again later.
func throttled(s *story) *story { return s.readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 5) }

// probing is a half-open window, in which each of the jobs is a probe of another replica.
func probing(s *story, claim bool, replicas ...string) {
	s.trips(s1).wait(31 * time.Second)
	for i, node := range replicas {
		job := "job-" + strconv.Itoa(21+i)
		if s.readsCounter(node, job); claim {
			s.claimsProbe(node, job)
		}
		s.calls(node, job)
	}
}

var policyTrials = map[string]trial{
	"no-dispatch-without-decision": {
		cfg:    guarded,
		breaks: func(s *story) { s.submit(job1).begins(s1, job1) },
		says:   "wrote SCHEDULED at step 5 without a decision",
		holds:  letThrough,
	},
	"kernel-is-asked-about-the-request": {
		cfg:    guarded,
		breaks: func(s *story) { asked(s, `{"topic":"job.a","tenant":"acme","job_hash":%q}`) },
		says:   "scheduler-1 wrote SCHEDULED at step 7, but had asked the safety kernel at step 6 with the requires [], and the request has [gpu]",
		holds:  func(s *story) { asked(s, `{"topic":"job.a","tenant":"acme","requires":["gpu"],"job_hash":%q}`) },
	},
	"no-dispatch-of-denied-job": {
		breaks: func(s *story) { deniedAtOnce(s); s.publish(s2, job1, w1) },
		says:   "of a job that is DENIED with the decision DENY",
		holds:  deniedAtOnce,
	},
	"no-check-while-circuit-open": {
		cfg:    guarded,
		breaks: func(s *story) { s.trips(s1).readsCounter(s2, job1).calls(s2, job1) },
		says:   "although it had read at step 13 that the safety circuit was open",
		holds:  func(s *story) { s.trips(s1).readsCounter(s2, job1) },
	},
	"open-circuit-stops-every-replica": {
		cfg:    guarded,
		breaks: func(s *story) { s.trips(s1).wait(2*time.Second).readsCounter(s2, job1).calls(s2, job1) },
		says:   "after the last of 3 calls in a row that had failed",
		holds:  func(s *story) { s.trips(s1).wait(31*time.Second).readsCounter(s2, job1).calls(s2, job1) },
	},
	"half-open-probes-within-limit": {
		cfg:    shared,
		breaks: func(s *story) { probing(s, true, s1, s1, s2, s2) },
		says:   "as the 4th probe of one half-open window of the safety circuit; the limit is 3, and the probes before it were steps ",
		holds:  func(s *story) { probing(s, true, s1, s1, s2) },
	},
	"half-open-closes-on-successes": {
		cfg:    guarded,
		breaks: func(s *story) { probing(s, false, s1, s1); s.hears(s1, "job-21", 1).counts(s1, "job-21", 0) },
		says:   "scheduler-1 closed the half-open safety circuit at step 18, after 1 call of its window had succeeded; it takes 2",
		holds: func(s *story) {
			probing(s, false, s1, s2)
			s.hears(s1, "job-21", 1).hears(s2, "job-22", 1).counts(s2, "job-22", 0)
		},
	},
	"circuit-opens-on-failures-alone": {
		cfg:    guarded,
		breaks: func(s *story) { s.readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 1).counts(s1, job1, 1) },
		says:   "scheduler-1 counted a failure of the safety circuit at step 4, although no call of its",
		holds:  func(s *story) { s.trips(s1) },
	},
	"open-circuit-ends": {
		cfg: guarded,
		breaks: func(s *story) {
			s.trips(s1)
			s.last().Changes[0].Expires += time.Hour
			s.wait(33*time.Second).readsCounter(s2, job1)
		},
		says:  "scheduler-2 found the safety circuit open at step 13, 33.002s after the last call that had failed",
		holds: func(s *story) { s.trips(s1).wait(29*time.Second).readsCounter(s2, job1) },
	},
	"closed-circuit-lets-calls-through": {
		cfg:    guarded,
		breaks: func(s *story) { s.readsCounter(s1, job1).wait(5*time.Second).readsCounter(s1, job1) },
		says:   "scheduler-1 had found the safety circuit closed at step 1, and has made no call since",
		holds: func(s *story) {
			s.readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 0).wait(5*time.Second).readsCounter(s1, job1)
		},
	},
	"throttled-job-comes-again": {
		cfg:    guarded,
		breaks: func(s *story) { throttled(s.submit(job1)).wait(148*time.Second).calls(s2, job1) },
		says:   "job-1: was put off at 5ms, and not put to the safety kernel again within 2m28.001s",
		holds:  func(s *story) { throttled(s.submit(job1)).wait(5*time.Second).calls(s2, job1) },
	},
	"throttled-job-waits": {
		cfg:    guarded,
		breaks: func(s *story) { throttled(s).wait(4*time.Second).calls(s2, job1) },
		says:   "scheduler-2 asked the safety kernel about it at step 4, 4.001s after that had throttled it; it was to wait for 5s",
		holds:  func(s *story) { throttled(s).wait(5*time.Second).calls(s2, job1) },
	},
	"replica-alone-keeps-its-budget": {
		cfg: guarded,
		breaks: func(s *story) {
			for i := range 4 {
				job := "job-" + strconv.Itoa(11+i)
				s.readsCounter(s1, job).fails().calls(s1, job).hears(s1, job, 0)
			}
		},
		says: "although by its own count of failures the safety circuit was open",
		holds: func(s *story) {
			for i := range 3 {
				job := "job-" + strconv.Itoa(11+i)
				s.readsCounter(s1, job).fails().calls(s1, job).hears(s1, job, 0)
			}
		},
	},
	"circuit-opened":       {cfg: guarded, breaks: letThrough, holds: func(s *story) { s.trips(s1).readsCounter(s2, job1) }},
	"circuit-half-opened":  {cfg: guarded, breaks: func(s *story) { s.trips(s1) }, holds: func(s *story) { probing(s, false, s1) }},
	"circuit-closed-again": {cfg: guarded, breaks: func(s *story) { probing(s, false, s1) }, holds: func(s *story) { probing(s, false, s1); s.hears(s1, "job-21", 1).counts(s1, "job-21", 0) }},
	"replica-counts-alone": {cfg: guarded, breaks: letThrough, holds: func(s *story) { s.readsCounter(s1, job1).fails() }},
	"input-fail-open": {
		cfg:    config.Config{Policy: config.PolicyConfig{Kernel: true, SharedBreaker: true, FailMode: "open"}},
		breaks: letThrough,
		holds: func(s *story) {
			s.submit(job1).lock(s1, job1).read(s1, job1).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 0).decided(s1, job1, "FAIL_OPEN")
		},
	},
	"job-throttled": {cfg: guarded, breaks: letThrough, holds: func(s *story) { s.readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 5) }},
	"job-denied":    {cfg: guarded, breaks: letThrough, holds: deniedAtOnce},
}

// A job that the kernel throttles to the end waits rightly, while the time in which it is asked again is not over.
func TestAThrottledJobNeedsNotSettle(t *testing.T) {
	givenUp := func(s *story) *story {
		return throttled(s.submit(job1)).message(s1, job1, "submit_nak", sim.KindNak, 100).at1()
	}
	later := func(s *story) { s.op(s1, "job-2", "state_read") }
	for name, c := range map[string]struct {
		replayer, settles bool
		tell              func(*story)
	}{
		"its request comes again":             {false, true, func(s *story) { throttled(s.submit(job1)) }},
		"its request does not":                {false, false, func(s *story) { later(throttled(s.submit(job1)).wait(2 * time.Minute)) }},
		"the replayer comes":                  {true, true, func(s *story) { later(givenUp(s).wait(2 * time.Minute)) }},
		"the replayer does not":               {true, false, func(s *story) { later(givenUp(s).wait(6 * time.Minute)) }},
		"its request was given up":            {false, false, func(s *story) { givenUp(s) }},
		"the kernel has allowed it since":     {true, false, func(s *story) { throttled(s.submit(job1)).calls(s1, job1).hears(s1, job1, 1) }},
		"it was scheduled, and nobody has it": {true, false, func(s *story) { throttled(s.submit(job1)).begins(s1, job1) }},
	} {
		s := newStory()
		c.tell(s)
		cfg := guarded
		cfg.PendingReplayer = c.replayer
		r := s.judge(cfg)
		assert.Equal(t, c.settles, len(outcomeOf(r, "every-job-settles").Violations) == 0, name)
	}
}

// A job whose request is astray is asked about by the replayer, unless that is struck as well.
func TestWhoAsksAgain(t *testing.T) {
	cfg := guarded
	cfg.PendingReplayer, cfg.PendingAge, cfg.PollInterval = true, 2*time.Minute, 30*time.Second
	for name, c := range map[string]struct {
		lost, replayer, struck bool
		ticks                  int
		broken                 bool
	}{
		"its request is left":                {replayer: true, ticks: 1, broken: true},
		"its delivery was lost":              {lost: true, replayer: true, ticks: 3},
		"the replayer passes it over":        {lost: true, replayer: true, ticks: 8, broken: true},
		"a replayer whose clock is wrong":    {lost: true, replayer: true, struck: true, ticks: 8},
		"its delivery was lost, no replayer": {lost: true, ticks: 1, broken: true},
	} {
		cfg.PendingReplayer = c.replayer
		s := throttled(newStory().starts(s1).starts(s2).submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).of(1))
		if c.lost {
			s.message(s1, job1, "submit_deliver", sim.KindDeliver, 2).of(1).lost()
		}
		if c.struck {
			s.control("skew", s2)
		}
		for range c.ticks {
			s.wait(90*time.Second).ticks(s2, history.ReplayerKey, "replay_lock", time.Minute)
		}
		o := outcomeOf(s.calls(s2, job1).judge(cfg), "throttled-job-comes-again")
		assert.Equal(t, c.broken, len(o.Violations) > 0, name)
	}
}

// What the record says must be what the kernel has said.
func TestADecisionMustBeTheKernels(t *testing.T) {
	for _, c := range []struct {
		told     int
		decision string
		more     []string
		problem  string
	}{
		{1, "ALLOW", nil, ""},
		{4, "ALLOW", nil, `the safety kernel had told it "DENY"`},
		{0, "ALLOW", nil, `the safety kernel had told it ""`},
		{4, "DENY", nil, `with the decision "DENY"`},
		{0, "FAIL_OPEN", nil, `with the decision "FAIL_OPEN"`},
		{2, "ALLOW_WITH_CONSTRAINTS", []string{"constraints", `{"placement.zone":"zone-1"}`}, "and the constraints map[placement.zone:zone-1]"},
		{3, "REQUIRE_APPROVAL", nil, `with the decision "REQUIRE_APPROVAL"`},
	} {
		s := newStory()
		s.submit(job1).lock(s1, job1).read(s1, job1).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, c.told)
		s.write(s1, job1, "scheduled_write", "SCHEDULED", append([]string{"attempts", "1", "decision", c.decision}, c.more...)...)
		o := outcomeOf(s.judge(guarded), "no-dispatch-without-decision")
		if c.problem == "" {
			assert.Empty(t, o.Violations)
		} else if assert.Len(t, o.Violations, 1, c.decision) {
			assert.Contains(t, o.Violations[0].Message, c.problem)
		}
	}
}

// The record says by which policy it was decided.
func TestADecisionNamesItsPolicy(t *testing.T) {
	for _, to := range []struct {
		told            int
		state, decision string
	}{{1, "SCHEDULED", "ALLOW"}, {3, "APPROVAL_REQUIRED", "REQUIRE_APPROVAL"}, {4, "DENIED", "DENY"}} {
		for snapshot, problem := range map[string]string{
			"sha256:1": "",
			"sha256:2": `with the policy snapshot "sha256:2", but the safety kernel had decided by "sha256:1"`,
			"":         `with the policy snapshot "", but the safety kernel had decided by "sha256:1"`,
		} {
			s := newStory().submit(job1).lock(s1, job1).read(s1, job1).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, to.told)
			s.last().Data = fmt.Sprintf(`{"decision":%d,"policy_snapshot":"sha256:1"}`, to.told)
			s.write(s1, job1, "scheduled_write", to.state, "attempts", "1", "decision", to.decision, "policy_snapshot", snapshot)
			o := outcomeOf(s.judge(guarded), "no-dispatch-without-decision")
			if problem == "" {
				assert.Empty(t, o.Violations, to.state)
			} else if assert.Len(t, o.Violations, 1, to.state) {
				assert.Contains(t, o.Violations[0].Message, problem)
			}
		}
	}
}

// So must what keeps it from being dispatched, and FAIL_OPEN is for a kernel that says nothing.
func TestARefusalMustBeTheKernels(t *testing.T) {
	open := guarded
	open.Policy.FailMode = "open"
	alone := apart
	alone.Policy.FailMode = "open"
	asks := func(told int) func(*story) {
		return func(s *story) { s.readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, told) }
	}
	nobody := func(*story) {}
	for name, c := range map[string]struct {
		cfg      config.Config
		asks     func(*story)
		to       string
		decision string
		problem  string // "" for none
	}{
		"denied":                       {guarded, asks(4), "DENIED", "DENY", ""},
		"denied by a word of no sense": {guarded, asks(9), "DENIED", "DENY", ""},
		"denied, though allowed":       {guarded, asks(1), "DENIED", "DENY", `the safety kernel had told it "ALLOW"`},
		"denied on an error":           {guarded, asks(0), "DENIED", "DENY", `the safety kernel had told it ""`},
		"denied, never asked":          {guarded, nobody, "DENIED", "DENY", `the safety kernel had told it ""`},
		"denied as allowed":            {guarded, asks(1), "DENIED", "ALLOW", `wrote DENIED at step 8 with the decision "ALLOW"`},
		"parked":                       {guarded, asks(3), "APPROVAL_REQUIRED", "REQUIRE_APPROVAL", ""},
		"parked, though allowed":       {guarded, asks(1), "APPROVAL_REQUIRED", "REQUIRE_APPROVAL", `the safety kernel had told it "ALLOW"`},
		"parked, though denied":        {guarded, asks(4), "APPROVAL_REQUIRED", "REQUIRE_APPROVAL", `the safety kernel had told it "DENY"`},
		"parked on an error":           {guarded, asks(0), "APPROVAL_REQUIRED", "REQUIRE_APPROVAL", `the safety kernel had told it ""`},
		"fail-open on an error":        {open, asks(0), "SCHEDULED", "FAIL_OPEN", ""},
		"fail-open over a denial":      {open, asks(4), "SCHEDULED", "FAIL_OPEN", `although the safety kernel had told it "DENY"`},
		"fail-open over a throttle":    {open, asks(5), "SCHEDULED", "FAIL_OPEN", `although the safety kernel had told it "THROTTLE"`},
		"fail-open, never asked":       {open, nobody, "SCHEDULED", "FAIL_OPEN", "although it had not asked the safety kernel"},
		"fail-open, the circuit is open": {open, func(s *story) {
			asks(4)(s)
			s.trips(s2).readsCounter(s1, job1)
		}, "SCHEDULED", "FAIL_OPEN", ""},
		"fail-open, the circuit is closed": {open, func(s *story) { s.readsCounter(s1, job1) }, "SCHEDULED", "FAIL_OPEN", "although it had not asked the safety kernel"},
		"fail-open, its own circuit is open": {alone, func(s *story) {
			for _, job := range []string{"job-11", "job-12", "job-13"} {
				s.calls(s1, job).hears(s1, job, 0)
			}
		}, "SCHEDULED", "FAIL_OPEN", ""},
		"fail-open, another's circuit is open": {alone, func(s *story) {
			for _, job := range []string{"job-11", "job-12", "job-13"} {
				s.calls(s2, job).hears(s2, job, 0)
			}
		}, "SCHEDULED", "FAIL_OPEN", "although it had not asked the safety kernel"},
	} {
		s := newStory().submit(job1).lock(s1, job1).read(s1, job1)
		c.asks(s)
		s.write(s1, job1, "decided_write", c.to, "decision", c.decision)
		o := outcomeOf(s.judge(c.cfg), "no-dispatch-without-decision")
		if c.problem == "" {
			assert.Empty(t, o.Violations, name)
		} else if assert.Len(t, o.Violations, 1, name) {
			assert.Contains(t, o.Violations[0].Message, c.problem, name)
		}
	}
}

// The count of jobs that went on without a decision is no less than the writes that say so. It may be more: of a write that failed.
func TestJobsThatGoOnUndecidedAreCounted(t *testing.T) {
	open := guarded
	open.Policy.FailMode = "open"
	for n, holds := range map[float64]bool{0: false, 1: true, 2: true} {
		s := newStory().submit(job1).lock(s1, job1).read(s1, job1).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 0).decided(s1, job1, "FAIL_OPEN")
		s.counted(map[string]float64{`cordum_scheduler_input_fail_open_total{topic="job.default"}`: n})
		found := outcomeOf(s.judge(open), "counters-equal-trace").Violations
		assert.Equal(t, holds, len(found) == 0, "%g: %v", n, found)
	}
}

// What the kernel has told in an earlier handling decides nothing.
func TestEachHandlingAsksTheKernel(t *testing.T) {
	s := newStory().submit(job1).lock(s1, job1).read(s1, job1).calls(s1, job1).hears(s1, job1, 1).unlock(s1, job1)
	s.lock(s1, job1).read(s1, job1).decided(s1, job1, "ALLOW")
	o := outcomeOf(s.judge(apart), "no-dispatch-without-decision")
	if assert.Len(t, o.Violations, 1) {
		assert.Contains(t, o.Violations[0].Message, `the safety kernel had told it ""`)
	}
}

func TestADispatchNeedsADecision(t *testing.T) {
	s := newStory()
	s.submit(job1).lock(s1, job1).read(s1, job1).write(s1, job1, "dispatched_write", "DISPATCHED", "worker", w1).publish(s1, job1, w1)
	o := outcomeOf(s.judge(guarded), "no-dispatch-without-decision")
	if assert.Len(t, o.Violations, 1) {
		assert.Contains(t, o.Violations[0].Message, `while the record had the decision ""`)
	}
	assert.Empty(t, outcomeOf(s.judge(config.Config{}), "no-dispatch-without-decision").Violations, "a world without a kernel")
}

func TestAProbeMustBeCountedFirst(t *testing.T) {
	s := newStory()
	probing(s, false, s1)
	assert.Len(t, outcomeOf(s.judge(shared), "no-check-while-circuit-open").Violations, 1)
	assert.Empty(t, outcomeOf(s.judge(guarded), "no-check-while-circuit-open").Violations)
}

// A call that failed is one failure.
func TestAFailureIsCountedAsOne(t *testing.T) {
	s := newStory()
	s.readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 0).counts(s1, job1, 3)
	o := outcomeOf(s.judge(guarded), "circuit-opens-on-failures-alone")
	if assert.Len(t, o.Violations, 1) {
		assert.Contains(t, o.Violations[0].Message, "counted 3 failures of the safety circuit at step 4 for one call")
	}

	s = newStory() // the write of one that failed is not made up for by another
	s.readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 0).add(s1, sim.KindRedis, "multi", failuresKey, job1, "breaker_write").fails()
	s.readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 1).counts(s1, job1, 1)
	assert.Len(t, outcomeOf(s.judge(guarded), "circuit-opens-on-failures-alone").Violations, 1)

	s = newStory() // that write may arrive late, and once
	s.readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 0).add(s1, sim.KindRedis, "multi", failuresKey, job1, "breaker_write").fails()
	s.wait(time.Second).counts(s1, job1, 1).late()
	assert.Empty(t, outcomeOf(s.judge(guarded), "circuit-opens-on-failures-alone").Violations)
	s.counts(s1, job1, 2).late()
	assert.Len(t, outcomeOf(s.judge(guarded), "circuit-opens-on-failures-alone").Violations, 1)
}

// failsAt is a call that fails, and is counted as that many.
func (s *story) failsAt(node, job string, counted int) *story {
	return s.readsCounter(node, job).calls(node, job).hears(node, job, 0).counts(node, job, counted)
}

// A circuit is opened by failures in a row, however far apart.
func TestFailuresInARowOpenTheCircuit(t *testing.T) {
	const name = "circuit-opens-on-failures-alone"
	succeeds := func(s *story, more func()) *story {
		s.readsCounter(s2, job1).calls(s2, job1)
		if more != nil {
			more()
		}
		return s.hears(s2, job1, 1)
	}
	for what, c := range map[string]struct {
		between func(s *story) *story // the second failure and the third
		broken  bool
	}{
		"nothing but time":         {func(s *story) *story { return s.wait(time.Hour) }, false},
		"a success":                {func(s *story) *story { return succeeds(s, nil).read(s2, job1) }, true},
		"one that nobody knows of": {func(s *story) *story { return succeeds(s, nil) }, false},
		"one that cannot be told": {func(s *story) *story {
			return succeeds(s, nil).add(s2, sim.KindRedis, "multi", failuresKey, job1, "breaker_write").fails().read(s2, job1)
		}, false},
		"one by a replica's own count": {func(s *story) *story {
			return s.readsCounter(s2, job1).fails().calls(s2, job1).hears(s2, job1, 1).read(s2, job1)
		}, false},
	} {
		s := newStory().failsAt(s1, "job-11", 1).failsAt(s1, "job-12", 2)
		c.between(s)
		o := outcomeOf(s.failsAt(s1, "job-13", 3).judge(guarded), name)
		assert.Equal(t, c.broken, len(o.Violations) > 0, what)
		if c.broken && len(o.Violations) > 0 {
			assert.Contains(t, o.Violations[0].Message, "scheduler-1 opened the safety circuit at step 16, after 1 failure since the last call that had succeeded; it takes 3 in a row", what)
		}
	}
	s := newStory() // a success that began before the failures may have come first
	succeeds(s, func() { s.failsAt(s1, "job-11", 1).failsAt(s1, "job-12", 2) }).read(s2, job1)
	assert.Empty(t, outcomeOf(s.failsAt(s1, "job-13", 3).judge(guarded), name).Violations)
}

// Half-open ends with an answer alone, and failures in a row have no age.
func TestTimeClosesNoCircuit(t *testing.T) {
	const name = "open-circuit-stops-every-replica"
	for what, c := range map[string]struct {
		s      *story
		broken bool
	}{
		"half-open for an hour, and a probe fails": {newStory().trips(s1).wait(time.Hour).failsAt(s1, job1, 1), true},
		"a probe succeeds, and the next one fails": {newStory().trips(s1).wait(time.Hour).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 1).failsAt(s1, "job-2", 1), true},
		"two succeed, and the next one fails": {newStory().trips(s1).wait(time.Hour).readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 1).
			readsCounter(s1, job1).calls(s1, job1).hears(s1, job1, 1).failsAt(s1, "job-2", 1), false},
		"an hour between two failures":  {newStory().failsAt(s1, "job-11", 1).wait(time.Hour).failsAt(s1, "job-12", 1).wait(time.Hour).failsAt(s1, "job-13", 1), true},
		"one that could not be counted": {newStory().failsAt(s1, "job-11", 1).failsAt(s1, "job-12", 2).fails().failsAt(s1, "job-13", 2), false},
	} {
		c.s.wait(2*time.Second).readsCounter(s2, "job-3").calls(s2, "job-3")
		o := outcomeOf(c.s.judge(guarded), name)
		assert.Equal(t, c.broken, len(o.Violations) > 0, what)
	}
}

// Enough successes close the circuit: those of one replica, or of all.
func TestSuccessesCloseTheCircuit(t *testing.T) {
	for what, c := range map[string]struct {
		cfg      config.Config
		second   string // the replica of the second probe
		closed   bool
		problems int
	}{
		"of one, and it closes":                  {guarded, s1, true, 0},
		"of one":                                 {guarded, s1, false, 1},
		"of two that count apart":                {guarded, s2, false, 0},
		"of two that count together":             {shared, s2, false, 1},
		"of two that count together; it closes ": {shared, s2, true, 0},
	} {
		s := newStory()
		probing(s, c.cfg.Policy.SharedProbes, s1, c.second)
		s.hears(s1, "job-21", 1).hears(c.second, "job-22", 1)
		if c.closed {
			s.counts(c.second, "job-22", 0)
		}
		s.read(s1, "job-21").read(c.second, "job-22").readsCounter(s1, job1)
		o := outcomeOf(s.judge(c.cfg), "half-open-closes-on-successes")
		if assert.Len(t, o.Violations, c.problems, what) && c.problems > 0 {
			assert.Contains(t, o.Violations[0].Message, "scheduler-1 found the safety circuit half-open at step ", what)
			assert.Contains(t, o.Violations[0].Message, "after 2 calls of its window had succeeded; it takes 2 to close it", what)
		}
	}
}

// Who finds the circuit half-open sends a probe, unless another's is out, or it cannot be counted.
func TestAHalfOpenCircuitIsTried(t *testing.T) {
	for what, c := range map[string]struct {
		then   func(*story)
		broken bool
	}{
		"nobody tries":            {func(*story) {}, true},
		"it does":                 {func(s *story) { s.claimsProbe(s1, job1).calls(s1, job1) }, false},
		"another does":            {func(s *story) { s.readsCounter(s2, "job-2").claimsProbe(s2, "job-2") }, false},
		"it cannot be counted":    {func(s *story) { s.claimsProbe(s1, job1).fails() }, false},
		"another failure is late": {func(s *story) { s.counts(s2, "job-2", 4).late() }, false},
	} {
		s := newStory().trips(s1).wait(time.Minute).readsCounter(s1, job1)
		c.then(s)
		o := outcomeOf(s.wait(5*time.Second).readsCounter(s1, job1).judge(shared), "closed-circuit-lets-calls-through")
		assert.Equal(t, c.broken, len(o.Violations) > 0, what)
	}
}

// Probes that nobody hears of are forgotten once the time open has gone by without another.
func TestProbesAreForgotten(t *testing.T) {
	for wait, violations := range map[time.Duration]int{29 * time.Second: 1, 31 * time.Second: 0} {
		s := newStory()
		probing(s, true, s1, s1, s2)
		s.wait(wait).readsCounter(s2, job1).claimsProbe(s2, job1).calls(s2, job1)
		assert.Len(t, outcomeOf(s.judge(shared), "half-open-probes-within-limit").Violations, violations, wait)
	}
}

func TestProbesApartAreOutsideThePromise(t *testing.T) {
	s := newStory()
	probing(s, false, s1, s1, s2, s2)
	o := outcomeOf(s.judge(guarded), "half-open-probes-within-limit")
	if assert.Len(t, o.Violations, 1) {
		assert.False(t, o.Violations[0].Promised)
	}
}

func TestReplicasThatShareNothingAreNotStopped(t *testing.T) {
	s := newStory()
	for i := range 3 {
		job := "job-" + strconv.Itoa(11+i)
		s.calls(s1, job).hears(s1, job, 0).read(s1, job)
	}
	s.wait(2*time.Second).calls(s2, job1)
	o := outcomeOf(s.judge(apart), "open-circuit-stops-every-replica")
	if assert.Len(t, o.Violations, 1) {
		assert.False(t, o.Violations[0].Promised)
	}
	s.calls(s1, "job-3")
	alone := outcomeOf(s.judge(apart), "replica-alone-keeps-its-budget")
	if assert.Len(t, alone.Violations, 1) {
		assert.Contains(t, alone.Violations[0].Message, "job-3: scheduler-1 asked the safety kernel")
	}
}

// A replica that cannot read the shared counter counts for itself alone.
func TestAFailureThatNobodyElseCanKnowStopsNobody(t *testing.T) {
	for alone, violations := range map[bool]int{false: 1, true: 0} {
		s := newStory()
		for _, job := range []string{"job-11", "job-12", "job-13"} {
			s.readsCounter(s2, job)
			if alone && job == "job-13" {
				s.fails()
			}
			s.calls(s2, job).hears(s2, job, 0).read(s2, job)
		}
		s.wait(2*time.Second).readsCounter(s1, job1).calls(s1, job1)
		assert.Len(t, outcomeOf(s.judge(guarded), "open-circuit-stops-every-replica").Violations, violations, "alone: %t", alone)
	}
}

// A replica that is paused after its call has failed has told nobody.
func TestAFailureCountsOnceItsReplicaGoesOn(t *testing.T) {
	s := newStory()
	for _, job := range []string{"job-11", "job-12", "job-13"} {
		s.readsCounter(s1, job).calls(s1, job).hears(s1, job, 0)
		if job != "job-12" {
			s.counts(s1, job, 1)
		}
	}
	s.wait(2*time.Second).readsCounter(s2, job1).calls(s2, job1)
	assert.Empty(t, outcomeOf(s.judge(guarded), "open-circuit-stops-every-replica").Violations)
	s.read(s1, "job-12").wait(2*time.Second).readsCounter(s2, job1).calls(s2, job1) // it goes on, and has not counted it
	assert.Len(t, outcomeOf(s.judge(guarded), "open-circuit-stops-every-replica").Violations, 1)
}

func TestBreakersAreToldOf(t *testing.T) {
	s := newStory()
	probing(s, false, s2)
	s.hears(s2, "job-21", 1).counts(s2, "job-21", 0)
	s.readsCounter(s1, job1).fails()
	j := NewJudge(guarded)
	for i := range s.events {
		j.Observe(&s.events[i])
	}
	var told []string
	for _, c := range j.Facts.Policy.Changes {
		told = append(told, fmt.Sprint(c.Node, " ", c.Circuit, " ", c.State, " ", c.Alone))
	}
	assert.Equal(t, []string{
		"scheduler-1 safety closed false", "scheduler-1 safety open false",
		"scheduler-2 safety half-open false", "scheduler-2 safety closed false",
		"scheduler-1 safety half-open true",
	}, told)
}

// The replayer may ask about a job that was put off, and then the request that was put off before. Neither lets anybody ask again and again.
func TestTheReplayerCrossesAThrottle(t *testing.T) {
	request := func(s *story, node string, n uint64) *story {
		return s.message(node, job1, "submit_deliver", sim.KindDeliver, n).at1()
	}
	asks := func(s *story, node string) *story { return s.calls(node, job1).hears(node, job1, 5) }
	back := func(s *story, node string, n uint64) *story {
		return s.message(node, job1, "submit_nak", sim.KindNak, n).at1()
	}
	first := func() *story { return back(asks(request(newStory().submit(job1), s1, 1), s1), s1, 1) }
	replayer := func(s *story) *story {
		return s.ticks(s2, history.ReplayerKey, "replay_lock", time.Minute).op(s2, job1, "replay_read")
	}
	early := time.Second
	for name, c := range map[string]struct {
		s    *story
		held bool
	}{
		"in time":                              {asks(request(first().wait(5*time.Second), s2, 2), s2), true},
		"too early":                            {asks(request(first().wait(early), s2, 2), s2), false},
		"by the replayer":                      {asks(replayer(first().wait(early)), s2), true},
		"by another's replayer":                {asks(replayer(first().wait(early)), s1), false},
		"by the replayer again":                {asks(asks(replayer(first().wait(early)), s2).wait(early), s2), false},
		"by the replayer again, which read it": {asks(replayer(asks(replayer(first().wait(early)), s2).wait(early)), s2), true},
		"by the request, after the replayer":   {asks(request(asks(replayer(first().wait(4*time.Second)), s2).wait(early), s1, 2), s1), true},
		"and again":                            {asks(request(back(asks(request(asks(replayer(first().wait(4*time.Second)), s2).wait(early), s1, 2), s1), s1, 2).wait(early), s1, 3), s1), false},
		"long after its replayer's tick": {asks(request(back(asks(request(replayer(first()).wait(time.Minute).
			ticks(s2, history.ReplayerKey, "replay_lock", time.Minute), s2, 2), s2), s2, 2).wait(early), s2, 3), s2), false},
		"by a process after its crash": {asks(request(replayer(first().wait(early)).control("crash", s2).control("restart", s2), s2, 2), s2), false},
	} {
		o := outcomeOf(c.s.judge(guarded), "throttled-job-waits")
		assert.Equal(t, c.held, len(o.Violations) == 0, name)
	}
}

// The kernel decides on the request that the decision goes with, and says why it denies.
func TestTheKernelIsAskedAboutTheRequest(t *testing.T) {
	for question, says := range map[string]string{
		`{"topic":"job.b","tenant":"acme","requires":["gpu"],"job_hash":%q}`:                                "with the topic job.b, and the request has job.a",
		`{"topic":"job.a","tenant":"default","requires":["gpu"],"job_hash":%q}`:                             "with the tenant default, and the request has acme",
		`{"topic":"job.a","tenant":"acme","requires":["gpu"],"labels":{"a":"b"},"job_hash":%q}`:             "with the labels map[a:b], and the request has map[]",
		`{"topic":"job.a","tenant":"acme","requires":["gpu"],"priority":"HIGH","job_hash":%q}`:              "with the priority HIGH, and the request has ",
		`{"topic":"job.a","tenant":"acme","requires":["gpu"],"replay":true,"job_hash":%q}`:                  "with the replay true, and the request has false",
		`{"topic":"job.a","tenant":"acme","requires":["gpu"],"job_hash":"not %s"}`:                          "with the job_hash not ",
		`{"topic":"job.a","tenant":"acme","requires":["gpu"],"labels":{"approved_by":"ann"},"job_hash":%q}`: "",
	} {
		o := outcomeOf(asked(newStory(), question).judge(guarded), "kernel-is-asked-about-the-request")
		assert.Equal(t, 1, o.Exercised)
		if says == "" {
			assert.Empty(t, o.Violations, question)
		} else if assert.Len(t, o.Violations, 1, question) {
			assert.Contains(t, o.Violations[0].Message, says)
		}
	}
	s := newStory()
	deniedAtOnce(s)
	for i := range s.events {
		if e := &s.events[i]; e.Kind == sim.KindReturn {
			e.Data = `{"decision":4,"reason":"rule 7"}`
		}
	}
	o := outcomeOf(s.judge(guarded), "no-dispatch-without-decision")
	assert.Len(t, o.Violations, 1)
	assert.Contains(t, o.Violations[0].Message, `wrote DENIED at step 8 for the reason "", but the safety kernel had told it "rule 7"`)
}

// In the fail mode open a job does not wait for a kernel that does not answer.
func TestARequestThatNobodyDecidesOnGoesOn(t *testing.T) {
	open := guarded
	open.Policy.FailMode = config.FailModeOpen
	asks := func(s *story) *story { return s.submit(job1).lock(s1, job1).read(s1, job1).readsCounter(s1, job1) }
	failed := func(s *story) *story { return asks(s).calls(s1, job1).hears(s1, job1, 0) }
	for name, c := range map[string]struct {
		cfg   config.Config
		story *story
		says  string // "" if nothing is broken
	}{
		"a failed call":        {open, failed(newStory()).unlock(s1, job1), "scheduler-1 had no answer of the safety kernel, and ended its handling"},
		"an open circuit":      {open, asks(newStory().trips(s1)).unlock(s1, job1), "with the job still PENDING"},
		"it goes on":           {open, failed(newStory()).decided(s1, job1, "FAIL_OPEN").unlock(s1, job1), ""},
		"it may wait":          {guarded, failed(newStory()).unlock(s1, job1), ""},
		"it is throttled":      {open, asks(newStory()).calls(s1, job1).hears(s1, job1, 5).unlock(s1, job1), ""},
		"the request is wrong": {open, failed(newStory()).errs("rpc error: code = InvalidArgument").unlock(s1, job1), ""},
		"Redis refuses":        {open, failed(newStory()).op(s1, job1, "scheduled_write").fails().unlock(s1, job1), ""},
	} {
		o := outcomeOf(c.story.judge(c.cfg), "fail-open-goes-on")
		if c.says == "" {
			assert.Empty(t, o.Violations, name)
		} else if assert.Len(t, o.Violations, 1, name) {
			assert.Contains(t, o.Violations[0].Message, c.says, name)
		}
	}
}

// errs makes the last step's caller see that error.
func (s *story) errs(outcome string) *story { s.last().Outcome = outcome; return s }
