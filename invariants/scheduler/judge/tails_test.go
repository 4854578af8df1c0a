package judge

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// losesPower has nats-server lose all that a stream has stored from a sequence on.
func (s *story) losesPower(stream string, from uint64) *story {
	s.control("power-loss", sim.NATS)
	var kept []sim.Change
	for _, c := range s.streams {
		if c.Stream != stream || c.Seq < from {
			kept = append(kept, c)
			continue
		}
		c.Gone = true
		s.last().Changes = append(s.last().Changes, c)
	}
	s.streams, s.seqs[stream] = kept, from-1
	return s
}

// handed is the delivery of the job's last dispatch to a worker.
func (s *story) handed(worker, job string, seq uint64) *story {
	return s.message(worker, job, "job_deliver", sim.KindDeliver, 1).of(seq)
}

func TestWhatAPowerLossTakesIsNoLongerStored(t *testing.T) {
	s := newStory().submit(job1).dispatched(s1, job1, w1).losesPower(history.StreamJobs, 1)
	r := s.judge(config.Config{})
	assert.True(t, s.struckBy(history.NATSPowerLoss))
	assert.Empty(t, outcomeOf(r, "events-agree-with-servers").Violations)
	lost := outcomeOf(r, "every-intent-is-published")
	require.Len(t, lost.Violations, 1)
	assert.Contains(t, lost.Violations[0].Message, "(to worker-1) was lost")
	assert.Zero(t, lost.Promised, "the power loss releases it")

	had := newStory().submit(job1).dispatched(s1, job1, w1).handed(w1, job1, 1).losesPower(history.StreamJobs, 1)
	assert.Empty(t, outcomeOf(had.judge(config.Config{}), "every-intent-is-published").Violations, "its worker has it")
	late := newStory().submit(job1).dispatched(s1, job1, w1).losesPower(history.StreamJobs, 1).handed(w1, job1, 1)
	assert.Empty(t, outcomeOf(late.judge(config.Config{}), "every-intent-is-published").Violations, "it was on its way")
}

// A power loss excuses nothing of jobs that lost no message by it.
func TestAPowerLossReleasesPromisesOfTheJobsThatLostSomething(t *testing.T) {
	s := newStory().submit(job1).dispatched(s1, job1, w1).submit(job2).dispatched(s1, job2, w1).losesPower(history.StreamJobs, 2)
	s.publish(s1, job2, w1) // in the place of what was lost
	s.publish(s1, job1, w1)
	r := s.judge(config.Config{})
	assert.Equal(t, 1, outcomeOf(r, "one-dispatch-per-job").Promised)
}

// A consumer whose state went back delivers what was acknowledged as if for the first time.
func TestADispatchIsDeliveredAgainWhateverItsCountSays(t *testing.T) {
	s := newStory().submit(job1).dispatched(s1, job1, w1).handed(w1, job1, 1).executed(w1, job1).control("power-loss", sim.NATS).handed(w1, job1, 1).executed(w1, job1)
	r := s.judge(config.Config{})
	assert.Equal(t, 1, outcomeOf(r, "dispatch-delivered-twice").Exercised)
	assert.Zero(t, outcomeOf(r, "one-execution-per-dispatch").Promised)
}
