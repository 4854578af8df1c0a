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

// slots sets which jobs Redis lists as a tenant's.
func (s *story) slots(tenant string, jobs ...string) {
	for _, job := range jobs {
		s.set("cordum:tenant:"+tenant+":active", job, "")
	}
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
		breaks: func(s *story) { calm(s); s.slots("default", job1) },
		says:   "cordum:tenant:default:active lists it, but the record says SUCCEEDED",
		holds:  func(s *story) { calm(s); s.ofTenant("job-2", "a").dispatched(s1, "job-2", w1); s.slots("a", "job-2") },
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
			s.submit(job1).dispatched(s1, job1, w1).submit("job-2").begins(s1, "job-2").add(s1, sim.KindRedis, "scard", "", "job-2", "tenant_read")
		},
	},
}

// fullLook is the look of a write for which the tenant has no slot.
func fullLook(s *story) *story {
	s.ofTenant(job1, "a").dispatched(s1, job1, w1)
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
		s.counted(map[string]float64{"jobs_dispatched": dispatched, "scheduler_fenced_writes_total": c.fenced})
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
