package whatif_test

import (
	"context"
	"fmt"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/whatif"
)

func ExampleExplain() {
	plan, err := plans.Load("publish-ack-lost")
	if err != nil {
		panic(err)
	}
	c, err := whatif.Explain(context.Background(), plan, whatif.Options{Quick: true})
	if err != nil {
		panic(err)
	}
	for _, t := range c.Blamed() {
		fmt.Println("it needs", t.Says)
	}
	fmt.Println(c.Holding())
	// Output:
	// it needs fail-after on publish of job 3
	// Without the fault, one-dispatch-per-job holds. With engine.epochs=true, one-dispatch-per-job holds, but then one-execution-per-job still breaks and result-of-current-epoch breaks outside of its promise. The same plan holds under the preset hardened.
}
