package reports_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// A page can be made of any plan, result and events; a run's own come from its folder.
func ExamplePage() {
	plan := &plans.Plan{Name: "calm", Topology: plans.Topology{Schedulers: 2, Workers: 3}, Workload: plans.Workload{Jobs: 1, Every: time.Second}}
	res := &scenarios.Result{
		Scenario: "calm", Seed: 1, Verdict: scenarios.Held, Reason: "all 20 invariants that were exercised hold",
		Jobs: []scenarios.JobResult{{ID: "job-1", State: "SUCCEEDED", Attempts: 1}},
	}
	trace := `{"step":1,"at_ns":1000,"node":"submitter","kind":"redis","name":"multi","job":"job-1","phase":"submit_write","outcome":"ok"}`
	events := reports.Trace(strings.NewReader(trace))

	var page strings.Builder
	if err := reports.Page(&page, plan, res, events); err != nil {
		fmt.Println(err)
	}
	_, title, _ := strings.Cut(page.String(), "<title>")
	title, _, _ = strings.Cut(title, "</title>")
	fmt.Println(title)
	// Output: calm, seed 1: held
}

// Trace reads one event a line.
func ExampleTrace() {
	trace := `{"step":1,"at_ns":1500,"kind":"control","name":"crash","target":"worker-1","outcome":"ok"}`
	for e, err := range reports.Trace(strings.NewReader(trace)) {
		fmt.Println(e.Kind == sim.KindControl, e.Name, e.Target, e.At, err)
	}
	// Output: true crash worker-1 1.5µs <nil>
}
