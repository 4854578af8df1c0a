package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// errEnded says that the handling has ended its job, and nothing of a dispatch is to follow.
var errEnded = errors.New("the job has ended")

// tenants remembers, of tenants that were met at their limit, when their jobs in flight were last gone
// through for some that are over.
type tenants struct {
	mu     sync.Mutex
	healed map[string]time.Time
}

// due says whether it is time to go through a tenant's jobs again, and notes that this is being done.
func (t *tenants) due(tenant string, now time.Time, every time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.healed[tenant]; ok && now.Sub(at) < every {
		return false
	}
	for other, at := range t.healed {
		if now.Sub(at) >= every {
			delete(t.healed, other)
		}
	}
	if t.healed == nil {
		t.healed = map[string]time.Time{}
	}
	t.healed[tenant] = now
	return true
}

// reserves says whether a job takes its tenant's slot in the write of DISPATCHED. In publish-first order
// that write comes too late to say no.
func (e *Engine) reserves() bool {
	return e.settings.TenantLimit > 0 && e.settings.TenantReserve && e.settings.DispatchOrder != settings.PublishFirst
}

// countTenant counts the tenant's jobs in flight, unless the write of DISPATCHED will. Replicas that count at
// once may all find the last slot free.
func (e *Engine) countTenant(ctx context.Context, h *handling) error {
	if e.settings.TenantLimit == 0 || e.reserves() {
		return nil
	}
	n, err := e.store.InFlight(phase.With(ctx, h.req.JobID, phase.TenantRead), h.rec.Tenant)
	if err != nil {
		return e.storeRetry(ctx, err, phase.TenantRead, "")
	}
	if n < e.settings.TenantLimit {
		return nil
	}
	return e.tenantFull(ctx, h, store.ErrTenantFull)
}

// tenantFull puts off a job whose tenant has no slot for it, with the back-off of retryable scheduling errors
// (Scheduler internals, section 5): a slot is free when a job ends. The last attempt ends the job, which is errEnded.
func (e *Engine) tenantFull(ctx context.Context, h *handling, cause error) error {
	err := fmt.Errorf("tenant %q, at most %d: %w", h.rec.Tenant, e.settings.TenantLimit, cause)
	if e.tenants.due(h.rec.Tenant, e.clock.Now(), e.settings.PollInterval) {
		e.healTenant(ctx, h)
	}
	err = e.putOff(ctx, h, err, phase.TenantRead, job.ReasonTenantLimit)
	if err == nil {
		return errEnded
	}
	return err
}

// healTenant gives the tenant back the slots of jobs that are over. What goes wrong comes again.
func (e *Engine) healTenant(ctx context.Context, h *handling) {
	tenant := h.rec.Tenant
	over, err := e.store.Over(phase.With(ctx, h.req.JobID, phase.TenantRead), tenant)
	if err == nil && len(over) > 0 {
		err = e.store.GiveBack(phase.With(ctx, h.req.JobID, phase.TenantHeal), tenant, over)
	}
	switch {
	case err != nil:
		e.log.LogAttrs(ctx, slog.LevelWarn, "tenant's slots cannot be checked", slog.String("tenant", tenant), slog.Any("error", err))
	case len(over) > 0:
		e.log.LogAttrs(ctx, slog.LevelWarn, "slots of jobs that are over given back", slog.String("tenant", tenant), slog.Int("jobs", len(over)))
	}
}
