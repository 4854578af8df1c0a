package phase

// The phases of workflows (seed 003, section 8).
const ()

var workflowPhases = []Phase{}
