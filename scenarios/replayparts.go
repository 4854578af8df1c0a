package scenarios

// What can be taken away of dead-letter triage and replay, and what plans draw of it.
var (
	replayToggles = []Toggle{}
	replayDials   = []dial{}
)
