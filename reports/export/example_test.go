package export_test

import (
	"fmt"
	"strings"

	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/reports/export"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// An export can be made of any result and events; a run's own come from its folder.
func ExampleOTLP() {
	trace := `{"step":1,"at_ns":1000,"node":"submitter","kind":"redis","name":"multi","job":"job-1","phase":"submit_write","outcome":"ok"}`
	var spans strings.Builder
	if err := export.OTLP(&spans, plans.Defaults(), &scenarios.Result{}, reports.Trace(strings.NewReader(trace))); err != nil {
		fmt.Println(err)
	}
	for line := range strings.Lines(spans.String()) {
		_, name, _ := strings.Cut(line, `"name":"`)
		name, _, _ = strings.Cut(name, `"`)
		fmt.Println(name)
	}
	// Output:
	// submit_write (multi)
	// job-1
}
