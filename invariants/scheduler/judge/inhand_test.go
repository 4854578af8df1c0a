package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/sim"
)

// A delivery that is lost reaches nobody: who ends a job by its result makes it up.
func TestALostDeliveryIsInNobodysHand(t *testing.T) {
	for lost, violations := range map[bool]int{false: 0, true: 1} {
		s := newStory().submit(job1).dispatched(s1, job1, w1).executed(w1, job1).message(s1, job1, "result_deliver", sim.KindDeliver, 1)
		if lost {
			s.lost()
		}
		s.lock(s1, job1).read(s1, job1).write(s1, job1, "result_write", "SUCCEEDED").unlock(s1, job1)
		found := outcomeOf(s.judge(config.Config{}), "job-ends-as-its-result-says").Violations
		require.Len(t, found, violations, lost)
		for _, v := range found {
			assert.Contains(t, v.Message, "scheduler-1 wrote SUCCEEDED at step 19, but it had no result of the job in hand")
		}
	}
}

// A lost delivery and the next are no two at once, so that the attempts after them last as long as those of one.
func TestALostDeliveryIsNoSecondRequest(t *testing.T) {
	cfg := config.Config{MaxSchedulingRetries: 2, EvenBackoff: true, BusyBackoff: true, BackoffMax: 30 * time.Second}
	s := newStory().submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).lost().wait(10*time.Minute).
		message(s1, job1, "submit_deliver", sim.KindDeliver, 2).begins(s1, job1).unlock(s1, job1).
		begins(s1, job1).givenUp(s1, job1, "no_workers")
	assert.Len(t, outcomeOf(s.judge(cfg), "attempts-last-their-budget").Violations, 1)
}

// An answer that is sent again was judged before. Another answer to the same delivery was not.
func TestAnotherAnswerIsNotSentAgain(t *testing.T) {
	for first, violations := range map[string]int{"submit_nak": 1, "submit_ack": 0} {
		s := newStory().submit(job1).dispatched(s1, job1, w1)
		kind := sim.KindAck
		if first == "submit_nak" {
			s, kind = newStory().submit(job1), sim.KindNak
		}
		s.message(s1, job1, "submit_deliver", sim.KindDeliver, 2).message(s1, job1, first, kind, 2).fails()
		s.message(s1, job1, "submit_ack", sim.KindAck, 2)
		assert.Len(t, outcomeOf(s.judge(config.Config{}), "acked-only-when-durable").Violations, violations, first)
	}
}

// A process that is slow has its result in hand still when another is given it.
func TestAResultIsInSeveralHands(t *testing.T) {
	s := newStory().submit(job1).dispatchedAt(s1, job1, w1, 1).answers(w1, job1, 1).
		message(s1, job1, "result_deliver", sim.KindDeliver, 1).wait(10*time.Minute).
		message(s2, job1, "result_deliver", sim.KindDeliver, 2).
		begins(s2, job1).minted(s2, job1, w2, 2).unlock(s2, job1).
		write(s1, job1, "result_write", "SUCCEEDED")
	o := outcomeOf(s.judge(hardened), "result-of-current-epoch")
	if assert.NotEmpty(t, o.Violations) {
		assert.Contains(t, o.Violations[0].Message, "scheduler-1 wrote SUCCEEDED at step")
		assert.Contains(t, o.Violations[0].Message, "by a result of epoch 1; the record's epoch is 2")
	}
}

// A nak that is sent again sends one delivery back.
func TestANakThatIsSentAgainCountsOnce(t *testing.T) {
	s := newStory().submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).
		message(s1, job1, "submit_nak", sim.KindNak, 1).message(s1, job1, "submit_nak", sim.KindNak, 1)
	judge := NewJudge(config.Config{})
	for i := range s.events {
		judge.Observe(&s.events[i])
	}
	assert.Zero(t, judge.Facts.Jobs[job1].Messages[0].Unanswered())
	judge.Facts.Jobs[job1].Messages[0].Delivered = 2 // one more, of which nobody was seen to get it
	assert.EqualValues(t, 1, judge.Facts.Jobs[job1].Messages[0].Unanswered())
}

// A server that has forgotten a delivery makes it again under the same number, to a process that is at it still.
func TestTwoDeliveriesOfOneNumber(t *testing.T) {
	s := newStory().submit(job1).dispatched(s1, job1, w1).executed(w1, job1)
	s.message(s1, job1, "result_deliver", sim.KindDeliver, 1).message(s1, job1, "result_deliver", sim.KindDeliver, 1)
	s.message(s1, job1, "result_nak", sim.KindNak, 1).lock(s1, job1).read(s1, job1).write(s1, job1, "result_write", "SUCCEEDED")
	assert.Empty(t, outcomeOf(s.judge(config.Config{}), "job-ends-as-its-result-says").Violations)
}

// What a process has in hand dies with it.
func TestACrashTakesWhatIsInHand(t *testing.T) {
	judge := NewJudge(config.Config{})
	s := newStory().submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).
		control("crash", s1).control("restart", s1).wait(time.Hour).control("crash", s1)
	for i := range s.events {
		judge.Observe(&s.events[i])
	}
	assert.Equal(t, 2, judge.Facts.Count.Crashes)
	assert.Equal(t, 1, judge.Facts.Count.RetriesCutShort)
}
