package policies

import "slices"

// Invariants lists the invariants of this package, in order.
var Invariants = slices.Concat(tenantInvariants, approvalInvariants, policyInvariants, outputInvariants)
