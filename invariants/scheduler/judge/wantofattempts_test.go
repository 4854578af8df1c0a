package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

func TestLastCauses(t *testing.T) {
	cfg := config.Config{MaxSchedulingRetries: 2, StaleWorker: "fixed-retries", Tenants: config.TenantConfig{Limit: 1}}
	busy := func(s *story) *story { return s.beats(w1, 9, s1) }
	for name, c := range map[string]struct {
		meets func(s *story) *story
		cause string
		told  string // of another cause
	}{
		"nobody is known":           {func(s *story) *story { return s }, "no_workers", "pool_overloaded"},
		"the only worker is busy":   {busy, "pool_overloaded", "no_workers"},
		"the busy worker is gone":   {func(s *story) *story { return busy(s).wait(time.Minute) }, "no_workers", "pool_overloaded"},
		"its publish never set out": {busy, "pool_overloaded", "dispatch_failed"},
		"its tenant is at its limit": {func(s *story) *story {
			return s.submit(job2).dispatched(s1, job2, w1).slots("default", job2)
		}, "tenant_limit", "no_workers"},
	} {
		for _, told := range []string{c.cause, c.told} {
			s := c.meets(newStory()).submit(job1).begins(s1, job1)
			if c.cause == "tenant_limit" {
				s.add(s1, sim.KindRedis, "scard", "", job1, "tenant_read")
			}
			got := outcomeOf(s.givenUp(s1, job1, told).judge(cfg), "last-cause-is-true")
			assert.Equal(t, 1, got.Exercised, name)
			assert.Equal(t, told != c.cause, len(got.Violations) > 0, "%s: %s", name, told)
		}
	}
}

// A job whose request was sent back each time is not tried for much longer than its budget; one that was left to AckWait may be,
// or to the replayer.
func TestAJobIsNotTriedForLongerThanItsBudget(t *testing.T) {
	cfg := config.Config{MaxSchedulingRetries: 2, EvenBackoff: true, BusyBackoff: true, BackoffMax: 30 * time.Second, Outages: time.Minute}
	lost := newStory().submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).at1().begins(s1, job1).unlock(s1, job1)
	lost.losesPower(history.StreamSys, 1).wait(151*time.Second).begins(s1, job1).givenUp(s1, job1, "no_workers")
	assert.Empty(t, outcomeOf(lost.judge(cfg), "attempts-last-their-budget").Violations)
	replayer := newStory().submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).at1().begins(s1, job1).unlock(s1, job1)
	replayer.message(s1, job1, "submit_nak", sim.KindNak, 1).at1().fails().wait(151*time.Second).begins(s1, job1).givenUp(s1, job1, "no_workers")
	assert.Empty(t, outcomeOf(replayer.judge(cfg), "attempts-last-their-budget").Violations, "its nak failed, and a replayer took it up")
	for after, sentBack := range map[time.Duration]bool{149 * time.Second: true, 151 * time.Second: true, 152 * time.Second: false} {
		s := newStory().submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).at1()
		s.begins(s1, job1).unlock(s1, job1)
		if sentBack {
			s.message(s1, job1, "submit_nak", sim.KindNak, 1).at1()
		}
		s.wait(after).message(s1, job1, "submit_deliver", sim.KindDeliver, 2).at1().begins(s1, job1).givenUp(s1, job1, "no_workers")
		got := outcomeOf(s.judge(cfg), "attempts-last-their-budget")
		assert.Equal(t, after == 151*time.Second, len(got.Violations) > 0, "%s: %v", after, got)
	}
}

// An attempt that finds no free worker ends the job itself if it is the last. One that comes later knows of a worker.
func TestWantOfAttempts(t *testing.T) {
	for name, c := range map[string]struct{ free, intended bool }{
		"nobody took it, though one was free":     {free: true},
		"none was free":                           {},
		"none was free, and then it went further": {intended: true},
	} {
		s := newStory().submit(job1)
		if c.free {
			s.beats(w1, 0, s1)
		}
		s.begins(s1, job1).unlock(s1, job1).beats(w1, 0, s1).begins(s1, job1)
		if c.intended {
			s.intended(s1, job1, w1)
		}
		s.unlock(s1, job1)
		s.lock(s1, job1).read(s1, job1).write(s1, job1, "failed_write", "FAILED", "reason_code", "max_scheduling_retries")
		o := outcomeOf(s.judge(config.Config{MaxSchedulingRetries: 2}), "no-failure-for-want-of-attempts")
		if assert.Len(t, o.Violations, 1) {
			assert.True(t, o.Violations[0].Promised, name)
		}
	}
}

// A worker past its TTL that is not evicted yet may be the one whom the last attempt picks, though another is free.
func TestAWorkerPastItsTTLMayKeepAnAttemptFromAFreeOne(t *testing.T) {
	cfg := config.Config{MaxSchedulingRetries: 2}
	for silent, broken := range map[time.Duration]int{0: 1, 35 * time.Second: 0, 42 * time.Second: 1} {
		s := newStory().submit(job1).beats(w2, 0, s1).wait(silent).beats(w1, 0, s1)
		rolledBack(s).lock(s1, job1).read(s1, job1).write(s1, job1, "failed_write", "FAILED", "reason_code", "max_scheduling_retries")
		assert.Len(t, outcomeOf(s.judge(cfg), "no-failure-for-want-of-attempts").Violations, broken, silent)
	}
}
