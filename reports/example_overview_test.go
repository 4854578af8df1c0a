package reports_test

import (
	"fmt"
	"os"

	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// Annotations are read by the runner of GitHub Actions.
func ExampleAnnotations() {
	res := &campaign.Result{
		Spec: campaign.Spec{Name: "fuzz"}, Complete: true, Runs: 3000, Bound: 0.001,
		Verdicts: map[scenarios.Verdict]int{scenarios.Held: 3000},
	}
	if err := reports.Annotations(os.Stdout, res); err != nil {
		fmt.Println(err)
	}
	// Output: ::notice title=wavetank fuzz::No promise was broken in 3,000 conclusive runs: at most 3/3,000 = 0.1 %25 of the plans of this distribution break one, with 95 %25 confidence (rule of three).
}
