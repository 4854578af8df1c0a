package lasting_test

import (
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/reports/lasting"
	"github.com/wavetank-sim/wavetank/sim"
)

func ExampleFollower() {
	f := lasting.NewFollower(30 * time.Second)
	f.Next(&sim.Event{Step: 1, At: time.Second, Node: "scheduler-1", Kind: sim.KindRedis,
		Changes: []sim.Change{{Key: "cordum:scheduler:job:job-1", Value: "scheduler-1:a4f1", Expires: 61 * time.Second}}})
	for _, s := range f.Rest(2 * time.Minute) {
		fmt.Printf("%s %s from %s to %s\n", s.Node, s.Title(), s.From, s.To)
	}
	// Output:
	// scheduler-1 locks job-1 from 1s to 1m1s
}
