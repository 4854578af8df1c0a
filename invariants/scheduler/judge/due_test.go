package judge

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// dueStories are what loops take up, each so long after it is due.
var dueStories = map[string]struct {
	cfg   config.Config
	after func(s *story, late time.Duration)
	says  string
}{
	"a timeout": {
		cfg: config.Config{Reconciler: true},
		after: func(s *story, late time.Duration) {
			s.submit(job1).dispatched(s1, job1, w1).wait(30*time.Minute+late).timesOut(s1, job1)
		},
		says: "and nobody brought it on for 1m40.",
	},
	"a deadline": {
		cfg: config.Config{Reconciler: true},
		after: func(s *story, late time.Duration) {
			s.expects(job1, 10000, 10000).wait(10*time.Second+late).timesOut(s1, job1)
		},
		says: "and nobody brought it on for 1m40.",
	},
	"a job that waits": {
		cfg: config.Config{PendingReplayer: true},
		after: func(s *story, late time.Duration) {
			s.submit(job1).wait(2*time.Minute+late).op(s1, job1, "replay_read").op(s1, job1, "replay_read")
		},
		says: "it was to be taken up as PENDING from 2m0.00",
	},
	"a dead letter": {
		cfg: replaying,
		after: func(s *story, late time.Duration) {
			s.dies(job1, "timeout").due(job1, 10*time.Second).wait(10*time.Second+late).op(s1, "", "dlq_read").visits(s1, job1).visits(s1, job1)
		},
		says: "and nobody visited it for 1m40.",
	},
	"a rollback": {
		cfg: durable,
		after: func(s *story, late time.Duration) {
			s.succeeds(job1).failsForGood(job2).sagaLock(s1).sagaUnlock(s1).wait(30*time.Second + late).sagaLock(s2)
		},
		says: "the rollback of wf-1 was to be taken up from",
	},
}

// What is due may wait for three polls, and for longer only where something strikes.
func TestWhatIsDueIsTakenUp(t *testing.T) {
	for name, c := range dueStories {
		judged := func(late time.Duration, strikes ...string) (said string) {
			s := newStory()
			for _, verb := range strikes {
				s.control(verb, "scheduler-9")
			}
			c.after(s, late)
			o := outcomeOf(s.judge(c.cfg), "what-is-due-is-taken-up")
			assert.NotZero(t, o.Exercised, name)
			for _, v := range o.Violations {
				assert.True(t, v.Promised, name)
				said += v.Message
			}
			return said
		}
		assert.Empty(t, judged(90*time.Second), name)
		assert.Contains(t, judged(100*time.Second), c.says, name)
		assert.Empty(t, judged(100*time.Second, "pause"), name)
	}
}

// A reconciler that begins with a rollback, or ends one, does what another should have done, unless something has struck.
func TestARollbackThatIsLeftIsARescue(t *testing.T) {
	for name, c := range map[string]struct {
		rescue bool
		story  func(s *story)
	}{
		"at once": {false, undone},
		"never":   {true, func(s *story) { s.succeeds(job1).failsForGood(job2).wait(time.Minute).sagaLock(s2) }},
		"struck": {false, func(s *story) {
			s.succeeds(job1).failsForGood(job2).control("pause", s1).wait(time.Minute).sagaLock(s2)
		}},
		"in part": {true, func(s *story) { begun(s).wait(time.Minute).sagaLock(s2) }},
		"to the end": {false, func(s *story) {
			begun(s).pops(s1).compensates(s1, job1, "comp-1").sagaUnlock(s1).wait(time.Minute).sagaLock(s2)
		}},
		"what came later": {false, func(s *story) {
			s.failsForGood(job2).sagaLock(s1).sagaUnlock(s1).succeeds(job1).wait(time.Minute).sagaLock(s2)
		}},
	} {
		s := newStory()
		c.story(s)
		assert.Equal(t, c.rescue, len(outcomeOf(s.judge(durable), "nobody-is-rescued").Violations) > 0, name)
	}
}

// begun is a rollback of two that has come to the first.
func begun(s *story) *story {
	return s.succeeds(job1).succeeds(job2).failsForGood(job3).sagaLock(s1).pops(s1).compensates(s1, job2, "comp-2")
}

// A dead letter that is put off is before the replay worker at the time that it says itself.
func TestADeadLetterIsListedForItsTime(t *testing.T) {
	for late, held := range map[time.Duration]bool{0: true, time.Minute: false} {
		s := newStory().dies(job1, "timeout").putOff(job1, 15*time.Second)
		e := s.last() // it was put off a millisecond before
		e.Changes = append(e.Changes, s.set(history.DlqDue, job1, strconv.FormatInt((s.at-time.Millisecond+15*time.Second+late).Milliseconds(), 10)))
		assert.Equal(t, held, len(outcomeOf(s.judge(replaying), "replay-waits-its-backoff").Violations) == 0, late)
	}
}
