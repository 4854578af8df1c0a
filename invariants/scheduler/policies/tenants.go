package policies

import (
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/sim"
)

// othersMax is how many of a tenant's other jobs a violation names.
const othersMax = 3

// What holds for tenants' limits (Scheduler internals, section 5, reason codes).
var tenantInvariants = []rule.Rule{tenantLimitHeld, tenantCountIsHeeded, tenantSlotsAgreeWithRecords}

var tenantLimitHeld = rule.New(invariants.Invariant{
	Name:   "tenant-limit-held",
	Says:   "A tenant has at most tenant_limit jobs DISPATCHED or RUNNING at any time.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 5, reason codes: tenant concurrency limit reached",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	limit := f.Config.Tenants.Limit
	if limit == 0 {
		return observe.Checker{}
	}
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		j := s.About
		if !j.State.InFlight() || w.From.InFlight() || w.From.Terminal() || s.Kind == sim.KindLate { // other invariants judge the last two
			return
		}
		t.Exercise()
		by := invariants.Clause{}
		if s.Handling != nil && s.Handling.Counted > 0 {
			by = invariants.Say(", by its count of step %d", invariants.StepNo(s.Handling.Counted))
		}
		if others := f.Active(j.TenantOf(), j); len(others) >= limit {
			slices.Sort(others)
			t.Violation(j, "%s wrote %s at step %d (%s)%s, so that %s has %d jobs in flight; its limit is %d (the last of the others were dispatched at step %s)",
				invariants.Who(s.Event), j.State, invariants.StepNo(s.Step), s.Phase, by, j.TenantOf(), len(others)+1, limit, invariants.StepList(others[max(0, len(others)-othersMax):]))
		}
	}}
})

var tenantCountIsHeeded = rule.New(invariants.Invariant{
	Name:   "tenant-count-is-heeded",
	Says:   "A handling that finds its tenant at its limit does not dispatch its job. A handling that has counted the tenant's jobs and found a slot dispatches its job.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 5, reason codes: tenant concurrency limit reached",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if f.Config.Tenants.Limit == 0 {
		return observe.Checker{}
	}
	return observe.Checker{
		Wrote: func(s *model.Step, w *model.Write) {
			if h := s.Handling; s.About.State == model.Dispatched && !w.From.InFlight() && h != nil && h.Full && !s.About.Mixed {
				t.Violation(s.About, "%s wrote DISPATCHED at step %d, although it had found %s at its limit of %d", invariants.Who(s.Event), invariants.StepNo(s.Step), s.About.TenantOf(), f.Config.Tenants.Limit)
			}
		},
		Released: func(s *model.Step) {
			if s.Handling.Counted == 0 && !s.Handling.Full {
				return
			}
			t.Exercise()
			if f.LeavesSlot(s) {
				t.Violation(s.About, "%s left it %s at step %d, although it had found %s below its limit of %d at step %d",
					invariants.Who(s.Event), s.About.State, invariants.StepNo(s.Step), s.About.TenantOf(), f.Config.Tenants.Limit, invariants.StepNo(s.Handling.Counted))
			}
		},
	}
})

var tenantSlotsAgreeWithRecords = rule.New(invariants.Invariant{
	Name:   "tenant-slots-agree-with-records",
	Says:   "With tenant_limit, each state write keeps the set of the tenant's jobs in flight equal to what the jobs' records say.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 5, reason codes: a slot that nobody gives back is lost to its tenant",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if f.Config.Tenants.Limit == 0 {
		return observe.Checker{}
	}
	keyOf := func(j *model.Job) string { return history.TenantPrefix + j.TenantOf() + history.TenantSuffix }
	judge := func(j *model.Job, listed bool) {
		if j.State == model.Absent {
			return
		}
		t.Exercise()
		switch {
		case listed && !j.State.InFlight():
			t.Violation(j, "%s lists it, but the record says %s%s", keyOf(j), j.State, rule.SinceStep(j))
		case !listed && j.State.InFlight():
			t.Violation(j, "is %s%s, but %s does not list it", j.State, rule.SinceStep(j), keyOf(j))
		}
	}
	return observe.Checker{
		Wrote: func(s *model.Step, _ *model.Write) { judge(s.About, f.HasSlot(s.About)) },
		Ended: func(end *invariants.End) {
			for _, j := range f.Order {
				_, listed := end.Redis[keyOf(j)][j.ID]
				judge(j, listed)
			}
		},
	}
})
