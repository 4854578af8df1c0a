package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// A handler that outlived its lock may have its job twice in one process. A release, of several steps,
// is then the end of one of them; and which of them failed closed, the events do not say.
func TestAReleaseEndsOneHandling(t *testing.T) {
	s := newStory().submit(job1).lock(s1, job1).read(s1, job1).unseen().wait(2*time.Minute).
		begins(s1, job1).unlock(s1, job1).
		add(s1, sim.KindReturn, "hgetall", history.RecordPrefix+job1, job1, "state_read").fails().unlock(s1, job1).
		counted(map[string]float64{history.CounterFailClosed: 2, `scheduler_redis_errors_total{operation="read"}`: 1})
	r := s.judge(config.Config{})
	assert.Equal(t, 1, outcomeOf(r, "state-read-failed-closed").Exercised)
	assert.Empty(t, outcomeOf(r, "counters-equal-trace").Violations)

	s = newStory().submit(job1).lock(s1, job1).read(s1, job1).fails().unlock(s1, job1)
	s.counted(map[string]float64{history.CounterFailClosed: 2, `scheduler_redis_errors_total{operation="read"}`: 1})
	assert.Len(t, outcomeOf(s.judge(config.Config{}), "counters-equal-trace").Violations, 1)
}

// Only of the job that a process had twice do events not say which handling they are of.
func TestWhatIsMixedUpIsOfOneJob(t *testing.T) {
	drained := func(s *story, job string) *story {
		return s.submit(job).begins(s1, job).scheduled(s1, job, "scheduled_write").intended(s1, job, w1).publishFails(s1, job, w1).scheduled(s1, job, "rollback_write")
	}
	s := newStory().submit("job-9").begins(s1, "job-9").wait(2*time.Minute).begins(s1, "job-9")
	assert.Len(t, outcomeOf(drained(s, job1).judge(config.Config{}), "attempts-drain-by-two").Violations, 1)
}

// A crash leaves open whether its scheduler has counted what it did last, and no more than that.
func TestACrashLeavesOneCountOpen(t *testing.T) {
	for dispatched, held := range map[float64]bool{0: false, 1: true, 2: true, 3: true, 4: false} {
		s := newStory()
		calm(s)
		s.submit("job-2").dispatched(s1, "job-2", w2).control("crash", s1)
		s.counted(map[string]float64{"jobs_dispatched": dispatched, `jobs_completed{status="SUCCEEDED"}`: 1})
		o := outcomeOf(s.judge(config.Config{}), "counters-equal-trace")
		assert.Equal(t, held, o.Promised == 0, dispatched)
		assert.Equal(t, held, len(o.Violations) == 0, dispatched)
	}
}

// While a release hangs its lock may expire, and the same process take another for the job, which is not the
// one that nobody gave back.
func TestAHungReleaseIsOfItsOwnLock(t *testing.T) {
	hangs := func(s *story) *story { return s.releases(s1, job1).unseen() }
	returns := func(s *story) *story {
		return s.add(s1, sim.KindReturn, "watch", history.LockPrefix+job1, job1, "lock_release").fails()
	}
	const ttl = time.Minute
	s := newStory().submit(job1).lock(s1, job1).read(s1, job1)
	hangs(s).wait(ttl).lock(s1, job1).read(s1, job1)
	returns(s).wait(ttl/3).renew(s1, job1, ttl).wait(ttl/3).renew(s1, job1, ttl).unlock(s1, job1)
	r := s.judge(config.Config{})
	assert.Empty(t, outcomeOf(r, "no-lock-outlives-its-holder").Violations)
	assert.Empty(t, outcomeOf(r, "lock-overstayed").Exercised)
	assert.Zero(t, outcomeOf(r, "lock-left-to-expire").Exercised)

	s = newStory().submit(job1).lock(s1, job1).read(s1, job1)
	hangs(s)
	returns(s).wait(ttl/3).renew(s1, job1, ttl)
	r = s.judge(config.Config{})
	assert.Len(t, outcomeOf(r, "no-lock-outlives-its-holder").Violations, 1)
	assert.Equal(t, 1, outcomeOf(r, "lock-left-to-expire").Exercised)
}

// A renewal that was on its way when its holder crashed keeps the lock for another TTL, and no longer.
func TestALateRenewalIsTheLastWordOfItsHolder(t *testing.T) {
	const ttl = time.Minute
	s := newStory().submit(job1).lock(s1, job1).control("crash", s1).wait(ttl/2).renew(s1, job1, ttl).late()
	r := s.judge(config.Config{})
	assert.Empty(t, outcomeOf(r, "no-lock-outlives-its-holder").Violations)

	s.wait(ttl/2).renew(s1, job1, ttl)
	assert.Len(t, outcomeOf(s.judge(config.Config{}), "no-lock-outlives-its-holder").Violations, 1)
}

// A job is past its deadline when the world is, whatever the clock of who times it out says.
func TestADeadlineGoesByTheWorldsTime(t *testing.T) {
	for at, held := range map[time.Duration]bool{time.Second: false, 10 * time.Minute: true} {
		s := newStory().write("submitter", job1, "submit_write", "PENDING", "attempts", "0", "deadline_at", "600000").wait(at)
		s.write(s1, job1, "timeout_write", "TIMEOUT", "updated_at", "700000")
		assert.Equal(t, held, len(outcomeOf(s.judge(config.Config{RecheckTimeouts: true}), "timeout-only-when-due").Violations) == 0, at)
	}
}

// A record that arrives late counts its deadline from when its write set out.
func TestADeadlineCountsFromWhenItsWriteSetOut(t *testing.T) {
	arrives := func(deadline string) *story { // after five minutes
		s := newStory().write("submitter", job1, "submit_write", "PENDING", "attempts", "0", "deadline_at", deadline)
		record := s.last().Changes
		s.fails().last().Fault, s.last().Changes = history.FaultLate, nil
		return s.wait(5*time.Minute).add("submitter", sim.KindLate, "multi", history.RecordPrefix+job1, job1, "submit_write", record...)
	}
	for after, held := range map[time.Duration]bool{7 * time.Minute: false, 10 * time.Minute: true} {
		s := arrives("600000").wait(after-5*time.Minute).write(s1, job1, "timeout_write", "TIMEOUT", "updated_at", "700000")
		o := outcomeOf(s.judge(config.Config{RecheckTimeouts: true}), "timeout-only-when-due")
		assert.Equal(t, 1, o.Exercised)
		assert.Equal(t, held, len(o.Violations) == 0, after)
	}

	s := arrives("60000").wait(20*time.Second).timesOut(s1, job1)
	o := outcomeOf(s.judge(hardened), "overdue-job-found-within-a-poll")
	assert.Equal(t, 1, o.Exercised)
	assert.Empty(t, o.Violations, "nobody could find it before its record came")
}
