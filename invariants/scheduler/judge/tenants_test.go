package judge

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

var twoEach = config.Config{Fence: true, Tenants: config.TenantConfig{Limit: 2, Reserve: true}}

// ofTenant is a submission of a tenant's job.
func (s *story) ofTenant(job, tenant string) *story {
	s.submit(job)
	s.last().Changes = append(s.last().Changes, s.set(history.RecordPrefix+job, "tenant", tenant))
	return s
}

// slots has Redis list jobs as a tenant's.
func (s *story) slots(tenant string, jobs ...string) *story {
	key := history.TenantPrefix + tenant + history.TenantSuffix
	s.add(s1, sim.KindRedis, "sadd", key, "", "dispatched_write")
	for _, job := range jobs {
		s.last().Changes = append(s.last().Changes, s.set(key, job, ""))
	}
	return s
}

// seated has each state write of the story so far keep the tenant's set.
func (s *story) seated(tenant string) *story {
	key := history.TenantPrefix + tenant + history.TenantSuffix
	for i := range s.events {
		e := &s.events[i]
		for _, c := range e.Changes {
			inFlight := c.Value == "DISPATCHED" || c.Value == "RUNNING"
			switch {
			case c.Field != "state":
			case inFlight:
				e.Changes = append(e.Changes, s.set(key, e.Job, ""))
			default:
				delete(s.redis[key], e.Job)
				e.Changes = append(e.Changes, sim.Change{Key: key, Field: e.Job, Gone: true})
			}
		}
	}
	return s
}

var tenantTrials = map[string]trial{
	"tenant-limit-held": {
		cfg: twoEach,
		breaks: func(s *story) {
			for _, id := range []string{job1, "job-2", "job-3"} {
				s.ofTenant(id, "a").dispatched(s1, id, w1)
			}
		},
		says: "wrote DISPATCHED at step 30 (dispatched_write), so that a has 3 jobs in flight; its limit is 2",
		holds: func(s *story) {
			s.ofTenant(job1, "a").dispatched(s1, job1, w1)
			s.ofTenant("job-2", "a").dispatched(s1, "job-2", w1)
			s.ofTenant("job-3", "b").dispatched(s1, "job-3", w1)
			s.submit("job-4").dispatched(s1, "job-4", w1) // nobody's
			s.executed(w1, job1).completed(s1, job1, "SUCCEEDED")
			s.ofTenant("job-5", "a").dispatched(s1, "job-5", w1)
		},
	},
	"tenant-slots-agree-with-records": {
		cfg:    twoEach,
		breaks: func(s *story) { calm(s); s.seated("default").slots("default", job1) },
		says:   "cordum:tenant:default:active lists it, but the record says SUCCEEDED",
		holds:  func(s *story) { s.ofTenant("job-2", "a").dispatched(s1, "job-2", w1).seated("a") },
	},
	"tenant-count-is-heeded": {
		cfg: config.Config{Tenants: config.TenantConfig{Limit: 1}},
		breaks: func(s *story) {
			counts(s.submit(job1).dispatched(s1, job1, w1).slots("default", job1)).intended(s1, job2, w1)
		},
		says:  "scheduler-1 wrote DISPATCHED at step 20, although it had found default at its limit of 1",
		holds: func(s *story) { counts(s).intended(s1, job2, w1).unlock(s1, job2) },
	},
	"key-of-two-tenants": {
		breaks: func(s *story) {
			s.underKey(job1, "a").dispatched(s1, job1, w1).executed(w1, job1).underKey(job2, "a").dispatched(s1, job2, w1).executed(w1, job2)
		},
		holds: func(s *story) {
			s.underKey(job1, "a").dispatched(s1, job1, w1).executed(w1, job1).underKey(job2, "b").dispatched(s1, job2, w1).executed(w1, job2)
		},
	},
	"tenant-at-its-limit": {
		cfg:    config.Config{Tenants: config.TenantConfig{Limit: 1}},
		breaks: calm,
		holds: func(s *story) {
			counts(s.submit(job1).dispatched(s1, job1, w1).slots("default", job1))
		},
	},
}

// counts has scheduler-1 count job-2's tenant's jobs in flight.
func counts(s *story) *story {
	return s.submit(job2).begins(s1, job2).add(s1, sim.KindRedis, "scard", "", job2, "tenant_read")
}

// fullLook is the look of a write for which the tenant has no slot.
func fullLook(s *story) *story {
	s.ofTenant(job1, "a").dispatched(s1, job1, w1).slots("a", job1)
	s.ofTenant("job-2", "a").begins(s1, "job-2")
	s.add(s1, sim.KindRedis, "watch", history.RecordPrefix+"job-2", "job-2", "dispatched_write")
	return s.add(s1, sim.KindRedis, "pipeline", history.RecordPrefix+"job-2", "job-2", "dispatched_write")
}

// A write that finds no slot, or that others crowd out, is not one that the fence stopped; unless it is
// given up.
func TestALimitIsNoFence(t *testing.T) {
	one := config.Config{Fence: true, Tenants: config.TenantConfig{Limit: 1, Reserve: true}}
	two := config.Config{Fence: true, Tenants: config.TenantConfig{Limit: 2, Reserve: true}}
	for name, c := range map[string]struct {
		cfg    config.Config
		goesOn func(*story)
		fenced float64
	}{
		"no slot":     {one, func(*story) {}, 0},
		"crowded out": {two, func(s *story) { s.op(s1, "job-2", "dispatched_write").last().Name = "multi" }, 1},
		"and made after all": {two, func(s *story) {
			s.op(s1, "job-2", "dispatched_write").last().Name = "multi"
			s.last().Outcome = history.TransactionFailed
			s.intended(s1, "job-2", w1).publish(s1, "job-2", w1)
		}, 0},
	} {
		s := newStory()
		fullLook(s)
		c.goesOn(s)
		if name == "crowded out" {
			s.last().Outcome = history.TransactionFailed
		}
		s.unlock(s1, "job-2")
		dispatched := 1.0
		if c.fenced == 0 && name != "no slot" {
			dispatched = 2
		}
		s.counted(map[string]float64{"jobs_dispatched": dispatched, `scheduler_fenced_writes_total{phase="dispatched_write"}`: c.fenced})
		assert.Empty(t, outcomeOf(s.judge(c.cfg), "counters-equal-trace").Violations, name)
	}
}

// underKey is a submission of a tenant's job under the idempotency key key-1.
func (s *story) underKey(job, tenant string) *story {
	s.ofTenant(job, tenant)
	request := s.set(history.RecordPrefix+job, "request", `{"job_id":"`+job+`","topic":"job.default","tenant":"`+tenant+`","idempotency_key":"key-1"}`)
	s.last().Changes = append(s.last().Changes, request)
	return s
}

// An idempotency key is one of its tenant: another's job under the same key has an effect of its own, and has to have it.
func TestAKeyIsATenantsOwn(t *testing.T) {
	cfg := config.Config{Deduplicate: true}
	for tenant, again := range map[string]int{"tenant-1": 1, "tenant-2": 0} {
		s := newStory().underKey(job1, "tenant-1").dispatched(s1, job1, w1).executed(w1, job1).completed(s1, job1, "SUCCEEDED")
		s.underKey(job2, tenant).dispatched(s1, job2, w1).executed(w1, job2).completed(s1, job2, "SUCCEEDED")
		assert.Len(t, outcomeOf(s.judge(cfg), "one-effect-per-key").Violations, again, tenant)

		s = newStory().underKey(job1, "tenant-1").dispatched(s1, job1, w1).executed(w1, job1).completed(s1, job1, "SUCCEEDED")
		s.underKey(job2, tenant).dispatched(s1, job2, w1).result(w1, job2).completed(s1, job2, "SUCCEEDED") // its worker took it for done
		assert.Len(t, outcomeOf(s.judge(cfg), "succeeded-implies-finished-execution").Violations, 1-again, tenant)
	}
}

// The tenant's set is what the records say from each state write on, not only in the end.
func TestASlotIsGivenBackAtOnce(t *testing.T) {
	s := newStory()
	rolledBack(s.submit(job1))
	s.seated("default").dispatched(s2, job1, w1)
	for i := range s.events {
		if e := &s.events[i]; e.Phase == "rollback_write" {
			e.Changes = e.Changes[:len(e.Changes)-1] // keeps its slot
		}
	}
	o := outcomeOf(s.judge(twoEach), "tenant-slots-agree-with-records")
	if assert.NotEmpty(t, o.Violations) {
		assert.Contains(t, o.Violations[0].Message, "cordum:tenant:default:active lists it, but the record says SCHEDULED")
	}
}

// Who has counted and found a slot dispatches its job, unless something keeps it from that.
func TestAFreeSlotIsTaken(t *testing.T) {
	for name, c := range map[string]struct {
		tell func(*story)
		says string
	}{
		"left":              {func(s *story) { counts(s) }, "scheduler-1 left it SCHEDULED at step 7, although it had found default below its limit of 1 at step 6"},
		"taken":             {func(s *story) { counts(s).intended(s1, job2, w1) }, ""},
		"left when full":    {func(s *story) { counts(s.submit(job1).dispatched(s1, job1, w1).slots("default", job1)) }, ""},
		"the count fails":   {func(s *story) { counts(s).fails() }, ""},
		"the write is lost": {func(s *story) { counts(s).op(s1, job2, "dispatched_write").fails() }, ""},
	} {
		s := newStory()
		c.tell(s)
		s.unlock(s1, job2)
		o := outcomeOf(s.judge(config.Config{Tenants: config.TenantConfig{Limit: 1}}), "tenant-count-is-heeded")
		assertSays(t, o.Violations, c.says, name)
	}
}

// A late write that takes back a job which is over is not its tenant's count's doing.
func TestALateWriteIsNoDispatch(t *testing.T) {
	one := config.Config{Tenants: config.TenantConfig{Limit: 1, Reserve: true}}
	for kind, broken := range map[sim.Kind]int{sim.KindLate: 0, sim.KindRedis: 1} {
		s := newStory()
		s.ofTenant(job1, "a").submit(job2)
		s.last().Changes = append(s.last().Changes, s.set(history.RecordPrefix+job2, "tenant", "a"))
		s.dispatched(s1, job1, w1).begins(s1, job2).write(s1, job2, "running_write", "RUNNING")
		s.last().Kind = kind
		assert.Len(t, outcomeOf(s.judge(one), "tenant-limit-held").Violations, broken, kind)
	}
}
