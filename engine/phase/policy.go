package phase

// The phases of the safety kernel, approvals and tenants (seed 003, sections 1, 5 and 6).
const ()

var policyPhases = []Phase{}
