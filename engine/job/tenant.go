package job

import "cmp"

// DefaultTenant is whose a job is that names no tenant.
const DefaultTenant = "default"

// TenantOf is the tenant that a job belongs to, by what its request or its record says.
func TenantOf(tenant string) string { return cmp.Or(tenant, DefaultTenant) }
