package judge

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
)

func TestConfigReadsTopicTimeouts(t *testing.T) {
	cfg := config.Config{TopicTimeouts: "job.fast=20s, job.slow=10m"}.WithDefaults()
	assert.Equal(t, 20*time.Second, cfg.TimeoutOf("job.fast"))
	assert.Equal(t, 10*time.Minute, cfg.TimeoutOf("job.slow"))
	assert.Equal(t, 300*time.Second, cfg.TimeoutOf("job.default"))
}

// A scheduler whose clock is fast stamps what it writes with times that have not come.
func TestATimeoutByAFastClockIsTooEarly(t *testing.T) {
	s := newStory().submit(job1).dispatched(s1, job1, w1).wait(time.Minute).timesOut(s2, job1)
	changes := s.last().Changes
	for i := range changes {
		if changes[i].Field == "updated_at" {
			changes[i].Value = strconv.FormatInt((s.at + 40*time.Minute).Milliseconds(), 10)
		}
	}
	r := s.judge(hardened)
	assert.Equal(t, 1, outcomeOf(r, "timeout-only-when-due").Promised)
	assert.Contains(t, outcomeOf(r, "timeout-only-when-due").Violations[0].Message, "too early")
}

// With watch_workers a job may be timed out while RUNNING once its worker is known to be silent.
func TestATimeoutOfASilentWorkersJob(t *testing.T) {
	const silent = 5*time.Minute + 20*time.Second
	begins := func() *story { return newStory().submit(job1).beat(w1, s1, s2).dispatched(s1, job1, w1) }
	for name, c := range map[string]struct {
		story *story
		early bool
	}{
		"for as long as the dispatch timeout":       {begins().beatsFor(silent, w2, s2), false},
		"not for as long":                           {begins().beatsFor(silent-time.Minute, w2, s2), true},
		"not all the time":                          {begins().beatsFor(silent/2, w2, s2).beat(w1, s2).beatsFor(silent/2, w2, s2), true},
		"to a replica that hears of nobody":         {begins().wait(silent), true},
		"to one that has heard of nobody meanwhile": {begins().wait(silent).beatsFor(time.Minute, w2, s2), true},
		"to another replica only":                   {begins().beatsFor(silent, w2, s1), true},
	} {
		violations := outcomeOf(c.story.timesOut(s2, job1).judge(hardened), "timeout-only-when-due").Violations
		assert.Equal(t, c.early, len(violations) == 1, name)
	}
	s := begins().beatsFor(silent, w2, s2).timesOut(s2, job1)
	assert.Len(t, outcomeOf(s.judge(with(func(c *config.Config) { c.WatchWorkers = false })), "timeout-only-when-due").Violations, 1)
}
