package invariants

// What holds of workflow runs and their timers (seed 003, section 8).
var workflowInvariants = []Invariant{}

// WorkflowConfig are the settings of it that promises depend on.
type WorkflowConfig struct{}
