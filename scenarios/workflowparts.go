package scenarios

// What can be taken away of workflow runs and their timers, and what plans draw of it.
var (
	workflowToggles = []Toggle{}
	workflowDials   = []dial{}
)
