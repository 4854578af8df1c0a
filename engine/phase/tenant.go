package phase

// The phases of tenant limits (Scheduler internals, section 5, reason codes).
const (
	TenantRead Phase = "tenant_read" // how many jobs the tenant has in flight; at the limit, whether they are
	TenantHeal Phase = "tenant_heal" // jobs that are over give the tenant its slots back
)
