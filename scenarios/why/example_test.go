package why_test

import (
	"fmt"

	"github.com/wavetank-sim/wavetank/scenarios/why"
)

func Example() {
	c := why.Cause{
		Invariant: "one-dispatch-per-job",
		Tried: []why.Tried{
			{What: why.Strike, Says: "crash of worker-1 at 10s", Needed: true},
			{What: why.Strike, Says: "pause of worker-2 at 20s"},
		},
		NoReturn: &why.NoReturn{Step: 124, Orders: 8, Before: 5},
	}
	fmt.Println(&c)
	fmt.Println("Not necessary:", c.Unneeded()[0].Says)
	// Output:
	// The violation needs a fault: a crash of worker-1 at 10s. Without the fault, one-dispatch-per-job holds. The order of the steps matters. The point of no return is step 124: from there on the violation came in each of 8 orders that were tried, and from the step before in 5 of 8.
	// Not necessary: pause of worker-2 at 20s
}
