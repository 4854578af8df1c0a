package judge

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

// A delay counts from when a job has ended, whatever its writer's clock says.
func TestADelayGoesByTheWorldsTime(t *testing.T) {
	tell := func(ended, fired time.Duration) *story {
		asked := twoSteps(1, pendingStep, pendingStep)
		asked.Steps[1].DelaySec = 600
		s := newStory().run("starter", "run_create", asked).advances(s1, twoSteps(2, submittedStep, pendingStep))
		s.stepJob(s1, "run-1-a-1").wait(10*time.Minute).dispatched(s1, "run-1-a-1", w1).executed(w1, "run-1-a-1").completed(s1, "run-1-a-1", "SUCCEEDED")
		for i := range s.events {
			for k := range s.events[i].Changes {
				if c := &s.events[i].Changes[k]; c.Field == "state" && c.Value == "SUCCEEDED" {
					c2 := s.set(c.Key, "updated_at", strconv.FormatInt((s.at+ended).Milliseconds(), 10))
					s.events[i].Changes = append(s.events[i].Changes, c2)
				}
			}
		}
		return s.advances(s1, twoSteps(3, succeededStep, waitingStep(1, s.at+ended+10*time.Minute))).wait(fired).stepJob(s1, "run-1-b-1")
	}
	for name, c := range map[string]struct {
		s       *story
		breaks  string
		message string
	}{
		"a clock that is behind": {tell(-9*time.Minute, 2*time.Minute), "no-delay-fires-early", "though not by what the records say"},
		"a clock that is ahead":  {tell(9*time.Minute, 19*time.Minute), "delay-fires-on-time", "after its time"},
	} {
		o := outcomeOf(c.s.judge(hardenedRuns), c.breaks)
		require.Len(t, o.Violations, 1, name)
		assert.Contains(t, o.Violations[0].Message, c.message, name)
	}
}

// A delay may be late where the replica that had the run in hand has died, or the last one.
func TestWhatADelayMayBeLateFor(t *testing.T) {
	for name, c := range map[string]struct {
		promised bool
		tell     func(*story)
	}{
		"nothing":                       {true, func(*story) {}},
		"a crash of who kept it":        {true, func(s *story) { s.keeps(s1).control("crash", s1) }},
		"a crash with the run's lock":   {false, func(s *story) { s.locksRun(s1).control("crash", s1) }},
		"a crash after the lock":        {true, func(s *story) { s.locksRun(s1).unlocksRun(s1).control("crash", s1) }},
		"a crash of who waits for it":   {false, func(s *story) { s.findsRunLocked(s2).control("crash", s2) }},
		"a crash of who has popped it":  {false, func(s *story) { s.keeps(s1).popsDelays(s2).control("crash", s2) }},
		"it could not be kept":          {true, func(s *story) { s.keeps(s1).fails() }},
		"a poller that did not get far": {false, func(s *story) { s.popsDelays(s2).fails() }},
		"a crash of all":                {false, func(s *story) { s.keeps(s1).control("crash", s1).control("crash", s2) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory().aDone(31 * time.Second)
			s.starts(s2)
			c.tell(s)
			s.wait(2*time.Minute).stepJob(s2, "run-1-b-1")
			s.injected()
			o := outcomeOf(s.judge(hardenedRuns), "delay-fires-on-time")
			require.Len(t, o.Violations, 1)
			assert.Equal(t, c.promised, o.Violations[0].Promised)
		})
	}
}

// A poll that failed leaves the delay to the next ones.
func TestADelayWaitsForPollsThatFail(t *testing.T) {
	for after, late := range map[time.Duration]bool{15 * time.Second: false, 17 * time.Second: true} {
		s := newStory().aDone(31*time.Second).wait(42*time.Second).popsDelays(s2).fails().injected().wait(after).stepJob(s1, "run-1-b-1")
		assert.Equal(t, late, len(outcomeOf(s.judge(hardenedRuns), "delay-fires-on-time").Violations) > 0, after)
	}
}

// A poll that goes by a wrong clock finds no run, and nobody else polls. To jobs that is nothing.
func TestAPollByAWrongClockReachesRuns(t *testing.T) {
	s := newStory().pull(s1).pull(s2).control("skew", s2).ticks(s2, history.PollerKey, "poll_lock", 10*time.Second).pull(s2).submit(job1)
	s.run("starter", "run_create", twoSteps(1, pendingStep, pendingStep)).wait(20*time.Second).advances(s1, twoSteps(2, submittedStep, pendingStep))
	j := NewJudge(hardenedRuns)
	for i := range s.events {
		j.Observe(&s.events[i])
	}
	o := outcomeOf(j.Finish(s.end()), "delay-fires-on-time")
	if assert.Len(t, o.Violations, 1) {
		assert.False(t, o.Violations[0].Promised)
	}
	assert.Zero(t, j.Facts.Jobs[job1].Struck)
}

// What a strike does to one run holds up no other, and an error without a strike excuses nothing.
func TestADelayWaitsForItsOwnRun(t *testing.T) {
	fails := map[string]func(*story) *story{
		"a write of its run is struck": func(s *story) *story {
			return s.add(s2, sim.KindRedis, "", history.RunPrefix+"run-1", "", "run_write").fails().injected()
		},
		"a write of another's is": func(s *story) *story {
			return s.add(s2, sim.KindRedis, "", history.RunPrefix+"run-2", "", "run_write").fails().injected()
		},
		"a poll ends with its process": func(s *story) *story { return s.popsDelays(s2).fails() },
	}
	for name, f := range fails {
		s := f(newStory().aDone(31*time.Second).wait(42*time.Second)).wait(15*time.Second).stepJob(s1, "run-1-b-1")
		late := len(outcomeOf(s.judge(hardenedRuns), "delay-fires-on-time").Violations) > 0
		assert.Equal(t, name != "a write of its run is struck", late, name)
	}
}

// As the engine's own: it doubles up to a year.
func TestTheBackoffOfAStep(t *testing.T) {
	assert.EqualValues(t, 100, model.Backoff(100, 1))
	assert.EqualValues(t, 400, model.Backoff(100, 3))
	assert.EqualValues(t, 365*24*time.Hour/time.Millisecond, model.Backoff(100, 1000))
	assert.Zero(t, model.Backoff(0, 1000))
}

// A delay has a timer in memory: where its run was written, or at a start that finds it in Redis.
func TestWhatHasATimer(t *testing.T) {
	short := func(s *story) {
		asked := twoSteps(1, pendingStep, pendingStep)
		asked.Steps[1].DelaySec = 5
		s.run("starter", "run_create", asked).advances(s1, twoSteps(2, submittedStep, pendingStep))
		s.stepJob(s1, "run-1-a-1").stepDone("run-1-a-1", "SUCCEEDED").advances(s1, twoSteps(3, succeededStep, waitingStep(1, 6*time.Second)))
	}
	long := func(s *story) { s.aDone(31 * time.Second).keeps(s1) }
	restart := func(s *story) { s.control("crash", s1).wait(40*time.Second).control("restart", s1).starts(s1) }
	for name, c := range map[string]struct {
		breaks bool
		tell   func(*story)
	}{
		"a short delay in time":           {false, func(s *story) { short(s); s.wait(6*time.Second).stepJob(s1, "run-1-b-1") }},
		"a short delay that a poll finds": {true, func(s *story) { short(s); s.wait(9*time.Second).stepJob(s2, "run-1-b-1") }},
		"a short delay that nobody finds": {true, func(s *story) { short(s); s.wait(9 * time.Second) }},
		"a long one that a poll finds":    {true, func(s *story) { long(s); s.wait(34*time.Second).popsDelays(s2).stepJob(s2, "run-1-b-1") }},
		"at a start":                      {false, func(s *story) { long(s); restart(s); s.popsDelays(s1).stepJob(s1, "run-1-b-1") }},
		"after a start":                   {true, func(s *story) { long(s); restart(s); s.wait(5*time.Second).popsDelays(s1).stepJob(s1, "run-1-b-1") }},
		"a short one after a start":       {false, func(s *story) { short(s); restart(s); s.wait(5*time.Second).stepJob(s1, "run-1-b-1") }},
		"a write that was not answered": {false, func(s *story) {
			short(s)
			s.events[len(s.events)-2].Outcome = "connection reset"
			s.wait(9*time.Second).stepJob(s1, "run-1-b-1")
		}},
		"its process crashes": {false, func(s *story) { short(s); s.control("crash", s1).wait(9*time.Second).stepJob(s2, "run-1-b-1") }},
		"another has the run meanwhile": {false, func(s *story) {
			short(s)
			s.wait(4*time.Second).locksRun(s2).wait(5*time.Second).unlocksRun(s2).stepJob(s1, "run-1-b-1")
		}},
	} {
		s := newStory()
		c.tell(s)
		assert.Equal(t, c.breaks, len(outcomeOf(s.judge(hardenedRuns), "delay-waits-for-no-poll").Violations) > 0, name)
	}
}
