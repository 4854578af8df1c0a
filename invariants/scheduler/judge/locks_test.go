package judge

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// expires sets when the key that the last step wrote expires, from then on; 0 is never.
func (s *story) expires(ttl time.Duration) *story {
	c := &s.last().Changes[0]
	if c.Expires = 0; ttl > 0 {
		c.Expires = s.at + ttl
	}
	return s
}

// A lock is taken and renewed for its TTL.
func TestALockLastsForItsTTL(t *testing.T) {
	locked := func() *story { return newStory().submit(job1).lock(s1, job1) }
	locksRun := func() *story {
		return newStory().run("submitter", "run_write", twoSteps(1, pendingStep, pendingStep)).locksRun(s1)
	}
	rollsBack := func() *story { return newStory().ticks(s1, wf1Lock, "saga_lock", 2*time.Minute) }
	for name, c := range map[string]struct {
		s    *story
		says string // "" if it holds
	}{
		"a job's":                      {locked().unlock(s1, job1), ""},
		"a job's, ten times as long":   {locked().expires(10*time.Minute).unlock(s1, job1), "the lock of the job that scheduler-1 took at step 3 lasts 10m0s, longer than its TTL of 1m0s"},
		"a job's, a tenth as long":     {locked().expires(6*time.Second).unlock(s1, job1), "lasts 6s, shorter than its TTL of 1m0s"},
		"a job's, renewed for shorter": {locked().wait(20*time.Second).renew(s1, job1, 6*time.Second).unlock(s1, job1), "lasts 6s, shorter than its TTL of 1m0s"},
		"a run's, a tenth as long":     {locksRun().expires(3 * time.Second).unlocksRun(s1), "lasts 3s, shorter than its TTL of 30s"},
		"a job's, for ever":            {locked().expires(0).unlock(s1, job1), "has no expiry"},
		"a job's, renewed":             {locked().wait(20*time.Second).renew(s1, job1, time.Minute).unlock(s1, job1), ""},
		"a job's, renewed for longer":  {locked().wait(20*time.Second).renew(s1, job1, time.Hour).unlock(s1, job1), "lasts 1h0m0s, longer than its TTL of 1m0s"},
		"a run's":                      {locksRun().unlocksRun(s1), ""},
		"a run's, ten times as long":   {locksRun().expires(5 * time.Minute).unlocksRun(s1), "the lock of the run that scheduler-1 took at step 2 lasts 5m0s, longer than its TTL of 30s"},
		"a saga's":                     {rollsBack(), ""},
		"a saga's, ten times as long":  {rollsBack().expires(20 * time.Minute), "the lock of the saga wf-1 that scheduler-1 took at step 1 lasts 20m0s, longer than its TTL of 2m0s"},
		"a reconciler's, for too long": {newStory().reconciles(s1).expires(2 * time.Minute), "longer than its TTL of 1m0s"},
	} {
		found := outcomeOf(c.s.judge(config.Config{}), "no-lock-outlives-its-holder").Violations
		if assertSays(t, found, c.says, name) {
			assert.True(t, found[0].Promised, name)
		}
	}
}

// A lock is given back once its holder is done, and does not run out.
func TestALockIsGivenBack(t *testing.T) {
	const ttl = time.Minute
	left := func() *story {
		return newStory().submit(job1).message(s1, job1, "submit_deliver", sim.KindDeliver, 1).lock(s1, job1).read(s1, job1)
	}
	answered := func() *story { return left().message(s1, job1, "submit_nak", sim.KindNak, 1) }
	refused := func(s *story) *story {
		return s.add(s1, sim.KindRedis, "evalsha", history.LockPrefix+job1, job1, "lock_renew").fails().injected()
	}
	const says = "the lock that scheduler-1 took at step 4 ran out: it was neither renewed any more nor given back, although its holder lives"
	for name, c := range map[string]struct {
		s    *story
		says string // "" if it holds
	}{
		"it is not":                      {answered().wait(2 * ttl), says},
		"another takes it then":          {answered().wait(2*ttl).lock(s2, job1).unlock(s2, job1), says},
		"so does its holder":             {answered().wait(2*ttl).lock(s1, job1).unlock(s1, job1), says},
		"it is":                          {left().unlock(s1, job1).wait(2 * ttl), ""},
		"that fails":                     {left().releases(s1, job1).fails().wait(2 * ttl), ""},
		"there is time left":             {answered().wait(ttl / 2), ""},
		"it is renewed":                  {left().wait(ttl/2).renew(s1, job1, ttl).wait(ttl / 2), ""},
		"its holder has crashed":         {left().control("crash", s1).wait(2 * ttl), ""},
		"its holder is away":             {left().control("pause", s1).wait(2 * ttl), ""},
		"Redis refuses to renew it":      {refused(left()).wait(2 * ttl), ""},
		"its holder does not know of it": {newStory().submit(job1).lock(s1, job1).fails().wait(2 * ttl), ""},
	} {
		found := outcomeOf(c.s.judge(config.Config{}), "lock-kept-by-living-holder").Violations
		found = slices.DeleteFunc(found, func(v invariants.Violation) bool { return !v.Promised })
		assertSays(t, found, c.says, name)
	}
}

// A job's lock is renewed every third of its TTL, and no more once three renewals in a row have failed.
func TestAJobsLockIsRenewedByThirds(t *testing.T) {
	const ttl, third = time.Minute, 20 * time.Second
	locked := func() *story { return newStory().submit(job1).lock(s1, job1) }
	renews := func(s *story) *story { return s.wait(third-time.Millisecond).renew(s1, job1, ttl) }
	fails := func(s *story) *story { return s.wait(third-time.Millisecond).renewalFails(s1, job1) }
	for name, c := range map[string]struct {
		s    *story
		says string // "" if it holds
	}{
		"it is":                               {renews(renews(locked())).wait(third).unlock(s1, job1), ""},
		"it is not":                           {locked().wait(ttl/2).unlock(s1, job1), "began to give the lock back at step 4, 30.001s after it had taken or renewed it; a third of its TTL is 20s, and 0 renewals had failed in a row"},
		"it is not any more":                  {renews(locked()).wait(ttl/2).unlock(s1, job1), "began to give the lock back at step 5, 30.001s after"},
		"it is too late":                      {locked().wait(ttl/2).renew(s1, job1, ttl), "renewed the lock at step 4, 30.001s after it had taken or renewed it"},
		"it is too soon":                      {renews(locked()).wait(third/2).renew(s1, job1, ttl), "renewed the lock for the 2. time at step 5, 30.001s after it had taken it; a third of its TTL is 20s"},
		"its holder was paused":               {locked().control("pause", s1).wait(ttl/2).control("resume", s1).wait(third-5*time.Millisecond).renew(s1, job1, ttl), ""},
		"three fail":                          {fails(fails(fails(locked()))).wait(ttl).unlock(s1, job1), ""},
		"three fail, and it goes on":          {renews(fails(fails(fails(locked())))), "renewed the lock at step 7, although 3 renewals had failed in a row; it was to give up after 3"},
		"three fail, not one after another":   {renews(fails(renews(fails(fails(locked()))))), ""},
		"one fails, and it is given up":       {fails(locked()).wait(ttl/2).unlock(s1, job1), "30.001s after it had taken or renewed it; a third of its TTL is 20s, and 1 renewal had failed in a row"},
		"the script is sent whole, and fails": {fails(locked()).add(s1, sim.KindRedis, "eval", history.LockPrefix+job1, job1, "lock_renew").fails().wait(third-time.Millisecond).renewalFails(s1, job1), ""},
	} {
		found := outcomeOf(c.s.judge(config.Config{}), "lock-renewed-by-thirds").Violations
		if assertSays(t, found, c.says, name) {
			assert.True(t, found[0].Promised, name)
		}
	}
}

// A plain DEL gives a lock back, too, and ends its handling each time.
func TestAnUncheckedReleaseEndsItsHandling(t *testing.T) {
	s := newStory().submit(job1)
	for range 3 {
		s.lock(s1, job1)
		delete(s.redis, history.LockPrefix+job1)
		s.add(s1, sim.KindRedis, "del", history.LockPrefix+job1, job1, "lock_release", sim.Change{Key: history.LockPrefix + job1, Gone: true})
	}
	j := NewJudge(config.Config{})
	for i := range s.events {
		j.Observe(&s.events[i])
	}
	assert.Empty(t, j.Facts.Jobs[job1].Handlings)
}
