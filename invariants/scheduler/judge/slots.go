package judge

import (
	"cmp"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// tenantOf is whose the job is.
func (j *job) tenantOf() string { return cmp.Or(j.tenant, history.TenantDefault) }

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
	limit := f.config.Tenants.Limit
	return limit > 0 && f.active(j.tenantOf(), j) >= limit
}

// tenantCounted takes in that a handling has counted its tenant's jobs.
func (f *facts) tenantCounted(s *step) {
	switch {
	case s.handling == nil:
	case s.failed:
		s.handling.storeFailed = true
	case s.Name == "scard" && f.tenantFull(s.about):
		s.handling.full = true
		f.reach(tenantAtLimit)
	}
}

// contended says whether a state write that the server refused may be tried again by its own: others came
// and went in the tenant's set.
func (f *facts) contended(s *step) bool {
	return f.config.Tenants.Limit > 0 && f.config.Tenants.Reserve && f.config.DispatchOrder != "publish-first" && s.Phase == "dispatched_write" && s.handling != nil
}

// transactionRefused takes in that the server refused the MULTI of a state write.
func (j *observer) transactionRefused(s *step) {
	if j.facts.contended(s) {
		s.handling.fencing = s.Phase // whether it tries again shows by what comes next
		return
	}
	j.refused(s, s.Phase)
}

// looked takes in that a state write has looked at what it is to change.
func (j *observer) looked(s *step) {
	switch {
	case s.handling == nil || s.Name != "pipeline":
	case j.facts.contended(s) && j.facts.tenantFull(s.about):
		s.handling.fencing, s.handling.full = "", true
		j.facts.reach(tenantAtLimit)
	default:
		s.handling.fencing = s.Phase
	}
}
