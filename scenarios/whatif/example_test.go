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
	fmt.Println(c.NoReturn)
	// Output:
	// it needs fail-after on publish of job 3
	// The point of no return is the start: the violation comes in each of 8 orders.
}
