package scenarios

// What can be taken away of the output policy, and what plans draw of it.
var (
	outputToggles = []Toggle{}
	outputDials   = []dial{
		{name: "engine.output.check_timeout", values: []string{"200ms", "10s"}},
		{name: "engine.output.scan_timeout", values: []string{"1s", "2m"}},
	}
)
