package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// What holds of tenants' limits (Scheduler internals, section 5, reason codes).
var tenantInvariants = []rule{tenantLimitHeld, tenantSlotsAgreeWithRecords}

var withTenantReserve = provided("tenant_reserve", func(c *config.Config) bool { return c.Tenants.Reserve })

var tenantLimitHeld = checking(invariants.Invariant{
	Name:   "tenant-limit-held",
	Says:   "A tenant has at most tenant_limit jobs DISPATCHED or RUNNING at any time.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 5, reason codes: tenant concurrency limit reached",
}, func(f *facts, t *tally) checker {
	limit := f.config.Tenants.Limit
	if limit == 0 {
		return checker{}
	}
	return checker{wrote: func(s *step, w *write) {
		j := s.about
		if !j.state.inFlight() || w.from.inFlight() {
			return
		}
		t.exercise()
		if n := 1 + f.active(j.tenantOf(), j); n > limit {
			t.violated(j, "%s wrote %s at step %d (%s), so that %s has %d jobs in flight; its limit is %d",
				invariants.Who(s.Event), j.state, s.Step, s.Phase, j.tenantOf(), n, limit)
		}
	}}
})

var tenantSlotsAgreeWithRecords = checking(invariants.Invariant{
	Name:   "tenant-slots-agree-with-records",
	Says:   "With tenant_limit, the set of a tenant's jobs in flight is what their records say.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 5, reason codes: a slot that nobody gives back is lost to its tenant",
}, func(f *facts, t *tally) checker {
	if f.config.Tenants.Limit == 0 {
		return checker{}
	}
	return checker{ended: func(end *invariants.End) {
		for _, j := range f.order {
			if j.state == absent {
				continue
			}
			t.exercise()
			key := history.TenantPrefix + j.tenantOf() + history.TenantSuffix
			_, listed := end.Redis[key][j.id]
			switch {
			case listed && !j.state.inFlight():
				t.violated(j, "%s lists it, but the record says %s%s", key, j.state, sinceStep(j))
			case !listed && j.state.inFlight():
				t.violated(j, "is %s%s, but %s does not list it", j.state, sinceStep(j), key)
			}
		}
	}}
})
