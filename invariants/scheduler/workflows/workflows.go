package workflows

import "slices"

// Invariants lists the invariants of this package, in order.
var Invariants = slices.Concat(sagaInvariants, workflowInvariants)
