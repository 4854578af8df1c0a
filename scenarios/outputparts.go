package scenarios

// What can be taken away of the output policy, and what plans draw of it.
var (
	outputToggles = []Toggle{}
	outputDials   = []dial{}
)
