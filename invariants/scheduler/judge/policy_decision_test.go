package judge

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

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
			assertSays(t, o.Violations, problem, to.state)
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
		assertSays(t, o.Violations, says, question)
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
		assertSays(t, o.Violations, c.says, name)
	}
}

// errs makes the last step's caller see that error.
func (s *story) errs(outcome string) *story { s.last().Outcome = outcome; return s }
