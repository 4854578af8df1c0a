package sweep_test

import (
	"fmt"

	"github.com/wavetank-sim/wavetank/scenarios/sweep"
)

func Example() {
	d, err := sweep.Load("stale-worker")
	if err == nil {
		err = d.Grid([]string{"engine.max_dispatch_retries=1..10", "world.heartbeat_lag=0s,5s,15s"})
	}
	if err == nil {
		err = d.Validate()
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	grid := d.Spec().Grid
	fmt.Println(len(grid.Points), "points, the last", grid.Points[29])
	fmt.Println(d.Grid([]string{"engine.max_dispatch_retries=1..1000000"}))
	// Output:
	// 30 points, the last [engine.max_dispatch_retries=10 world.heartbeat_lag=15s]
	// the axes have 1,000,000 points; a sweep has at most 10,000: take fewer values, or wider steps
}
