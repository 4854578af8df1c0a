package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
)

func TestEpochsAreDispatchesOfTheirOwn(t *testing.T) {
	s := newStory().submit(job1).dispatchedAt(s1, job1, w1, 1).begins(s1, job1).minted(s1, job1, w2, 2).publishes(s1, job1, w2, 2)
	assert.Empty(t, outcomeOf(s.judge(hardened), "one-dispatch-per-job").Violations)
	s.publishes(s1, job1, w1, 2)
	o := outcomeOf(s.judge(hardened), "one-dispatch-per-job")
	require.Len(t, o.Violations, 1)
	assert.Contains(t, o.Violations[0].Message, "second dispatch of epoch 2 stored")

	s = newStory().submit(job1).begins(s1, job1).minted(s1, job1, w1, 1).voids(s2, job1, w1, 1).tells(s2, job1, w1)
	r := s.judge(hardened)
	assert.Zero(t, outcomeOf(r, "one-dispatch-per-job").Exercised, "neither a void nor a notice is a dispatch")
	assert.Empty(t, outcomeOf(r, "events-agree-with-servers").Violations)
}

// A publish that is confirmed and not stored is no dispatch, whatever its publisher makes of it.
func TestADroppedPublishIsNoDispatch(t *testing.T) {
	s := repickDropped(newStory()).wait(31*time.Minute).timesOut(s2, job1)
	s.counted(map[string]float64{"scheduler_duplicate_publishes_total": 1, "scheduler_dispatch_rollback_total": 1, `jobs_completed{status="TIMEOUT"}`: 1})
	r := s.judge(config.Config{})
	assert.Empty(t, outcomeOf(r, "one-dispatch-per-job").Violations)
	assert.Empty(t, outcomeOf(r, "counters-equal-trace").Violations)
	require.Len(t, outcomeOf(r, "every-intent-is-published").Violations, 1)
	v := outcomeOf(r, "every-intent-is-published").Violations[0]
	assert.True(t, v.Promised)
	assert.Contains(t, v.Message, "(to worker-2)")
}
