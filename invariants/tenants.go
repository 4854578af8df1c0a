package invariants

import "cmp"

// What holds of tenants' limits (Scheduler internals, section 5, reason codes).
var tenantInvariants = []rule{tenantLimitHeld, tenantSlotsAgreeWithRecords}

// TenantConfig are the settings of it that promises depend on.
type TenantConfig struct {
	Limit   int  // tenant_limit; 0 is none
	Reserve bool // tenant_reserve
}

var withTenantReserve = setting{"tenant_reserve", func(c *Config) bool { return c.Tenants.Reserve }}

// tenantPrefix and tenantSuffix enclose a tenant's name in the key of its jobs in flight.
const (
	tenantPrefix  = "cordum:tenant:"
	tenantSuffix  = ":active"
	tenantDefault = "default" // whose a job without a tenant is
)

// tenantOf is whose the job is.
func (j *job) tenantOf() string { return cmp.Or(j.tenant, tenantDefault) }

// active counts a tenant's jobs in flight, by their records.
func (f *facts) active(tenant string, but *job) (n int) {
	for _, j := range f.order {
		if j != but && j.state.inFlight() && j.tenantOf() == tenant {
			n++
		}
	}
	return n
}

// tenantFull says whether the job's tenant has no slot left for it.
func (f *facts) tenantFull(j *job) bool {
	limit := f.cfg.Tenants.Limit
	return limit > 0 && f.active(j.tenantOf(), j) >= limit
}

// tenantCounted takes in that a handling has counted its tenant's jobs.
func (f *facts) tenantCounted(s *step) {
	switch {
	case s.h == nil:
	case s.failed:
		s.h.storeFailed = true
	case s.Name == "scard" && f.tenantFull(s.job):
		s.h.full = true
		f.reach(tenantAtLimit)
	}
}

// contended says whether a state write that the server refused may be tried again by its own: others came
// and went in the tenant's set.
func (f *facts) contended(s *step) bool {
	return f.cfg.Tenants.Limit > 0 && f.cfg.Tenants.Reserve && f.cfg.DispatchOrder != "publish-first" && s.Phase == "dispatched_write" && s.h != nil
}

var tenantLimitHeld = checking(Invariant{
	Name:   "tenant-limit-held",
	Says:   "A tenant has at most tenant_limit jobs DISPATCHED or RUNNING at any time.",
	Kind:   Always,
	Source: "Scheduler internals, section 5, reason codes: tenant concurrency limit reached",
}, func(f *facts, t *tally) checker {
	limit := f.cfg.Tenants.Limit
	if limit == 0 {
		return checker{}
	}
	return checker{wrote: func(s *step, w *write) {
		j := s.job
		if !j.state.inFlight() || w.from.inFlight() {
			return
		}
		t.exercise()
		if n := 1 + f.active(j.tenantOf(), j); n > limit {
			t.violated(j, "%s wrote %s at step %d (%s), so that %s has %d jobs in flight; its limit is %d",
				Who(s.Event), j.state, s.Step, s.Phase, j.tenantOf(), n, limit)
		}
	}}
})

var tenantSlotsAgreeWithRecords = checking(Invariant{
	Name:   "tenant-slots-agree-with-records",
	Says:   "With tenant_limit, the set of a tenant's jobs in flight is what their records say.",
	Kind:   Eventually,
	Source: "Scheduler internals, section 5, reason codes: a slot that nobody gives back is lost to its tenant",
}, func(f *facts, t *tally) checker {
	if f.cfg.Tenants.Limit == 0 {
		return checker{}
	}
	return checker{ended: func(end *End) {
		for _, j := range f.order {
			if j.state == absent {
				continue
			}
			t.exercise()
			key := tenantPrefix + j.tenantOf() + tenantSuffix
			_, listed := end.Redis[key][j.id]
			switch {
			case listed && !j.state.inFlight():
				t.violated(j, "%s lists it, but the record says %s%s", key, j.state, j.since())
			case !listed && j.state.inFlight():
				t.violated(j, "is %s%s, but %s does not list it", j.state, j.since(), key)
			}
		}
	}}
})

// transactionRefused takes in that the server refused the MULTI of a state write.
func (j *observer) transactionRefused(s *step) {
	if j.facts.contended(s) {
		s.h.fencing = s.Phase // whether it tries again shows by what comes next
		return
	}
	j.refused(s, s.Phase)
}

// looked takes in that a state write has looked at what it is to change.
func (j *observer) looked(s *step) {
	switch {
	case s.h == nil || s.Name != "pipeline":
	case j.facts.contended(s) && j.facts.tenantFull(s.job):
		s.h.fencing, s.h.full = "", true
		j.facts.reach(tenantAtLimit)
	default:
		s.h.fencing = s.Phase
	}
}
