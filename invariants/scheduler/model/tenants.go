package model

import (
	"cmp"
	"net/url"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// TenantOf is the job's tenant.
func (j *Job) TenantOf() string { return cmp.Or(j.tenant, history.TenantDefault) }

// Commitment identifies a job's idempotency key, together with its tenant.
func (j *Job) Commitment() string { return url.QueryEscape(j.TenantOf()) + ":" + j.Replay.Key }

// Active lists the steps at which a tenant's jobs in flight were dispatched, by their records. It leaves out
// but.
func (f *Facts) Active(tenant string, but *Job) (steps []int) {
	for _, j := range f.Order {
		if j != but && j.State.InFlight() && j.TenantOf() == tenant {
			steps = append(steps, j.Intent.Step)
		}
	}
	return steps
}

// slots are the jobs that Redis lists as in flight, by tenant.
type slots map[string]map[string]bool

// SlotChanged notes a change of a tenant's set.
func (f *Facts) SlotChanged(c *sim.Change, tenant string) {
	switch its := f.slots[tenant]; {
	case c.Gone && c.Field == "":
		delete(f.slots, tenant)
	case c.Gone:
		delete(its, c.Field)
	case f.slots == nil:
		f.slots = slots{tenant: {c.Field: true}}
	case its == nil:
		f.slots[tenant] = map[string]bool{c.Field: true}
	default:
		its[c.Field] = true
	}
}

// HasSlot says whether Redis lists the job as in flight.
func (f *Facts) HasSlot(j *Job) bool { return f.slots[j.TenantOf()][j.ID] }

// TenantFull says whether Redis lists as many of the tenant's jobs in flight as are allowed.
func (f *Facts) TenantFull(j *Job) bool {
	limit := f.Config.Tenants.Limit
	return limit > 0 && len(f.slots[j.TenantOf()]) >= limit
}

// TenantCounted notes that a handling has counted its tenant's jobs.
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

// LeavesSlot says whether the step's handling, which ends, has counted its tenant's jobs, found a free slot,
// and not used it, although nothing prevented that.
func (f *Facts) LeavesSlot(s *Step) bool {
	h := s.Handling
	return h.Counted != 0 && !h.Full && !h.Intended && !h.Published && !h.StoreFailed && !s.About.Mixed &&
		h.Renewals == 0 && (h.Expires == 0 || s.At < h.Expires)
}

// Contended says whether the handler may repeat a state write that the server refused because others changed
// the tenant's set.
func (f *Facts) Contended(s *Step) bool {
	return f.Config.Tenants.Limit > 0 && f.Config.Tenants.Reserve && f.Config.DispatchOrder != "publish-first" && s.Phase == "dispatched_write" && s.Handling != nil
}
