package plots_test

import (
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/reports/plots"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// A figure is drawn once for each size that a window can have.
func ExampleRun() {
	at := func(n int) time.Duration { return time.Duration(n) * time.Second }
	res := &scenarios.Result{Jobs: []scenarios.JobResult{{
		ID: "job-1", State: "RUNNING", Attempts: 1, Submitted: at(1),
		Path:       []scenarios.JobPoint{{At: at(1), State: "PENDING"}, {At: at(2), State: "SCHEDULED", Attempts: 1}},
		Dispatches: []scenarios.DispatchPoint{{At: at(3)}},
	}}}
	for _, f := range plots.Run(&plans.Plan{}, res, plots.Traced{Focus: []string{"job-1"}}) {
		fmt.Printf("%s: drawn %d times\n", f.Title, len(f.SVGs))
	}
	// Output:
	// Attempts of each job: drawn 2 times
	// Dispatch latency: drawn 2 times
	// Retries and rollbacks, counted up: drawn 0 times
}
