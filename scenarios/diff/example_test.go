package diff_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/diff"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

func made(seed uint64) diff.Run {
	plan, err := plans.Load("calm")
	if err != nil {
		panic(err)
	}
	plan.Seed = seed
	var trace bytes.Buffer
	res, err := scenarios.Run(context.Background(), plan, scenarios.RunOptions{Trace: &trace})
	if err != nil {
		panic(err)
	}
	return diff.Run{Plan: plan, Result: res, Trace: &trace}
}

func Example() {
	d, err := diff.Of(made(1), made(2))
	if err != nil {
		panic(err)
	}
	fmt.Println(d.Says())
	for _, v := range d.Plans {
		fmt.Printf("%s: A %s, B %s\n", v.Key, v.A, v.B)
	}
	// Output:
	// The traces part at step 1, 10ms. The verdict of both: held.
	// seed: A 1, B 2
}
