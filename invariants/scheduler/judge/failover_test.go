package judge

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// failover has Redis hold again what it held when job1 was PENDING.
func (s *story) failover() *story {
	back := s.write("", job1, "", "PENDING", "attempts", "0", "worker", "", "epoch", "0").last().Changes
	s.events = s.events[:len(s.events)-1]
	s.control("failover", sim.Redis)
	s.last().Changes = back
	return s
}

// A failover of Redis is nobody's doing: that a record goes back is no transition. Of what comes of it, hardly
// anything is promised, but that the stream has no two dispatches of an epoch.
func TestAFailoverReleasesPromises(t *testing.T) {
	before := func() *story { return newStory().submit(job1).begins(s1, job1) }
	dispatch := func(s *story) *story {
		return s.minted(s1, job1, w1, 1).publishes(s1, job1, w1, 1).write(s1, job1, "running_write", "RUNNING").unlock(s1, job1).ack(s1, job1, "submit_ack")
	}
	again := func(s *story) *story { return dispatch(s.failover().begins(s1, job1)) }

	s := again(dispatch(before()))
	r := s.judge(config.Config{})
	assert.True(t, s.struckBy(history.RedisFailover))
	for _, o := range r.Invariants {
		assert.Zero(t, o.Promised, "%s: %v", o.Name, o.Violations)
	}
	assert.Equal(t, 1, outcomeOf(r, "one-dispatch-per-job").Unpromised)
	for _, name := range []string{"documented-transitions-only", "epochs-never-decrease", "attempts-equal-scheduled-writes", "events-agree-with-servers", "redis-index-agrees-with-record"} {
		assert.Empty(t, outcomeOf(r, name).Violations, name)
	}

	r = again(dispatch(before())).judge(config.Config{Epochs: true})
	assert.Equal(t, 1, outcomeOf(r, "one-dispatch-per-job").Promised)

	s = dispatch(before()).failover().lock(s1, job1).read(s1, job1).fails()
	s = s.minted(s1, job1, w1, 1).publishes(s1, job1, w1, 1)
	assert.Equal(t, 1, outcomeOf(s.judge(config.Config{}), "no-dispatch-after-failed-read").Promised, "the store's past is no excuse for it")
}

// A failover that takes RUNNING back to DISPATCHED brings back an intent that was published. One that was not is not
// published by it.
func TestAFailoverBringsAnIntentBack(t *testing.T) {
	for published, want := range map[bool]int{true: 0, false: 1} {
		s := newStory().submit(job1).begins(s1, job1).intended(s1, job1, w1)
		back := s.last().Changes
		if published {
			s.publish(s1, job1, w1)
		}
		s.write(s1, job1, "running_write", "RUNNING").unlock(s1, job1)
		s.control("failover", sim.Redis).last().Changes = back
		s.wait(6*time.Minute).timesOut(s2, job1)
		assert.Len(t, outcomeOf(s.judge(config.Config{}), "every-intent-is-published").Violations, want, "published: %t", published)
	}
}

func TestExplainSaysWhatAFailoverReleasesAndWhatIsJudgedOnDemand(t *testing.T) {
	const failover = "redis-failover: "
	for name, released := range map[string]bool{"lock-mutual-exclusion": true, "one-dispatch-per-job": true, "no-dispatch-after-failed-read": false} {
		text, ok := Explain(name)
		require.True(t, ok)
		assert.Equal(t, released, strings.Contains(text, failover), name)
	}
	assert.Equal(t, []string{"epochs"}, findRow(t, "one-dispatch-per-job").Cell(history.RedisFailover).With)
	assert.Equal(t, string(invariants.Impossible), findRow(t, "one-writer-a-tick").Cell(history.RedisFailover).Status)
	text, _ := Explain("dispatches-count-as-load")
	assert.Contains(t, text, "it is judged only if a plan or --judge asks for it.\n")
}

// A failover that takes CANCELLED back leaves nobody to tell: the job is cancelled no more.
func TestAFailoverTakesACancellationBack(t *testing.T) {
	for again, want := range map[bool]int{false: 0, true: 1} {
		s := newStory().submit(job1).dispatched(s1, job1, w1).cancelled(s2, job1).failover().unlock(s2, job1)
		if again {
			s.cancelled(s1, job1).unlock(s1, job1)
		}
		o := outcomeOf(s.judge(config.Config{}), "cancelled-job-is-told")
		assert.Equal(t, want, o.Exercised)
		assert.Len(t, o.Violations, want)
	}
}
