package workflows

import "slices"

// Invariants are those of this package, in their order.
var Invariants = slices.Concat(sagaInvariants, workflowInvariants)
