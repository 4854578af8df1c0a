package policies

import "slices"

// Invariants are those of this package, in their order.
var Invariants = slices.Concat(tenantInvariants, approvalInvariants, policyInvariants, outputInvariants)
