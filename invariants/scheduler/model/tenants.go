package model

import (
	"cmp"
	"net/url"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// TenantOf is whose the job is.
func (j *Job) TenantOf() string { return cmp.Or(j.tenant, history.TenantDefault) }

// Commitment is what a job's idempotency key is known by, which is one of its tenant.
func (j *Job) Commitment() string { return url.QueryEscape(j.TenantOf()) + ":" + j.Replay.Key }

// Active are the steps at which a tenant's jobs in flight were dispatched, by their records.
func (f *Facts) Active(tenant string, but *Job) (steps []int) {
	for _, j := range f.Order {
		if j != but && j.State.InFlight() && j.TenantOf() == tenant {
			steps = append(steps, j.Intent.Step)
		}
	}
	return steps
}

// TenantFull says whether the job's tenant has no slot left for it.
func (f *Facts) TenantFull(j *Job) bool {
	limit := f.Config.Tenants.Limit
	return limit > 0 && len(f.Active(j.TenantOf(), j)) >= limit
}

// TenantCounted takes in that a handling has counted its tenant's jobs.
func (f *Facts) TenantCounted(s *Step) {
	switch {
	case s.Handling == nil:
	case s.Failed:
		s.Handling.StoreFailed = true
	case s.Name == "scard":
		s.Handling.Counted = s.Step
		if f.TenantFull(s.About) {
			s.Handling.Full = true
			f.Reach(TenantAtLimit)
		}
	}
}

// Contended says whether a state write that the server refused may be tried again by its own: others came
// and went in the tenant's set.
func (f *Facts) Contended(s *Step) bool {
	return f.Config.Tenants.Limit > 0 && f.Config.Tenants.Reserve && f.Config.DispatchOrder != "publish-first" && s.Phase == "dispatched_write" && s.Handling != nil
}
