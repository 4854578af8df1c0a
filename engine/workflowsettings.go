package engine

// WorkflowSettings are the knobs of workflow runs and their timers (seed 003, section 8).
type WorkflowSettings struct{}

func documentedWorkflow() WorkflowSettings { return WorkflowSettings{} }

func hardenedWorkflow() WorkflowSettings { return documentedWorkflow() }
