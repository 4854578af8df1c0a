package axis_test

import (
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/reports/axis"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

func ExampleCollector() {
	picture := axis.New(plans.Defaults(), &scenarios.Result{}, []string{"job-1"})
	picture.Add(&sim.Event{Step: 1, At: time.Millisecond, Node: "submitter", Kind: sim.KindPublish, Target: "sys.job.submit", Job: "job-1", Outcome: sim.OutcomeOK,
		Changes: []sim.Change{{Stream: "CORDUM_SYS", Subject: "sys.job.submit", Seq: 1}}})
	picture.Add(&sim.Event{Step: 2, At: 2 * time.Millisecond, Node: "scheduler-1", Kind: sim.KindDeliver, Target: "sys.job.submit", Seq: 1, Delivered: 1, Job: "job-1", Outcome: sim.OutcomeOK})
	a := picture.Axis()
	fmt.Println(a.Lanes)
	for _, arrow := range a.Arrows {
		fmt.Printf("%s -> %s\n", a.Marks[arrow.From].Says, a.Marks[arrow.To].Says)
	}
	// Output:
	// [submitter scheduler-1]
	// publishes sys.job.submit -> receives message 1 of sys.job.submit
}
