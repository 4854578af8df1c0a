package judge_test

import (
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/judge"
	"github.com/wavetank-sim/wavetank/sim"
)

// Two dispatches of one job, stored one after the other without a DISPATCHED write.
func Example() {
	j := judge.NewJudge(config.Config{})
	for n := 1; n <= 2; n++ {
		j.Observe(&sim.Event{
			Step: n, At: time.Duration(n) * time.Second, Node: "scheduler-1", Incarnation: 1,
			Kind: sim.KindPublish, Target: "worker.worker-1.jobs", Job: "job-3", Phase: "publish", Outcome: sim.OutcomeOK,
			Changes: []sim.Change{{
				Stream: "CORDUM_JOBS", Seq: uint64(n), Subject: "worker.worker-1.jobs", Header: map[string]string{"Job-Id": "job-3"},
			}},
		})
	}
	report := j.Finish(invariants.End{At: 3 * time.Second})
	for _, o := range report.Invariants {
		if o.Name == "one-dispatch-per-job" {
			fmt.Println(o.Violations[0].Message)
		}
	}
	// Output: job-3: second dispatch stored, CORDUM_JOBS seq 2 on worker.worker-1.jobs at step 2; the first was seq 1 on worker.worker-1.jobs at step 1
}

func ExampleExplain() {
	text, _ := judge.Explain("no-dispatch-after-failed-read")
	fmt.Print(text)
	// Output:
	// no-dispatch-after-failed-read (always)
	//
	// A handling does not publish a dispatch if its state read failed.
	//
	// Judged after every step, from what the step changed in Redis and in the streams.
	// Promised with read_error=fail-closed, and then under every fault; otherwise nothing is promised.
	// Source: State-read errors, the fail-closed branch.
}
