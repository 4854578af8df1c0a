package scenarios

// What can be taken away of workflow runs and their timers, and what plans draw of it.
var (
	workflowToggles = []Toggle{
		{Setting: "workflow.strict_run_lock", Off: "false", Scenario: "workflow-contended-run", Invariant: "run-written-by-lock-holder",
			Says: "A replica goes on with a run whose lock another one holds."},
		{Setting: "workflow.fence_runs", Off: "false", Scenario: "workflow-paused-holder", Invariant: "run-writes-not-lost",
			Says: "A replica that was paused past the TTL of a run's lock writes over what its successor wrote."},
		{Setting: "workflow.durable_timers", Off: "false", Scenario: "workflow-timer-crash", Invariant: "delay-fires-on-time",
			Says: "A delay dies with the replica that has it in memory, and the run waits for the reconciler."},
		{Setting: "workflow.delay_poller", Off: "false", Scenario: "workflow-timer-crash", Invariant: "delay-fires-on-time",
			Says: "A delay is kept in Redis, and nobody looks there until its replica starts again or the reconciler comes by."},
		{Setting: "workflow.run_reconciler", Off: "false", Scenario: "workflow-redis-away", Invariant: "every-run-settles",
			Says: "A delay that could not be kept in Redis dies with its replica, and nothing else knows of it."},
	}
	workflowDials = []dial{
		{name: "workload.runs", values: []string{"1", "2", "3"}},
		{name: "workload.steps", values: []string{"1", "2", "4", "6"}, with: "workload.runs=1"},
		{name: "workload.step_delay", values: []string{"12s", "5s", "1m"}, with: "workload.runs=1"},
		{name: "workload.step_retries", values: []string{"1", "3"}, with: "workload.runs=1"},
		{name: "workload.step_backoff", values: []string{"0s", "1s", "12s"}, with: "workload.runs=1"},
		{name: "workload.step_failures", values: []string{"1", "2"}, with: "workload.runs=1"},
		{name: "workload.step_undo", values: []string{"true"}, with: "workload.runs=1"},
		{name: "engine.workflow.run_lock_ttl", values: []string{"100ms", "2s", "2m"}, with: "workload.runs=1"},
		{name: "engine.workflow.durable_from", values: []string{"0s", "1m"}, with: "workload.runs=1"},
		{name: "engine.workflow.delay_poll", values: []string{"500ms", "20s"}, with: "workload.runs=1"},
		{name: "engine.workflow.strict_run_lock", values: []string{"true", "false"}, with: "workload.runs=1"},
		{name: "engine.workflow.fence_runs", values: []string{"true", "false"}, with: "workload.runs=1"},
	}
)

// runs has a plan start workflow runs, and turns some of their dials.
func (d *drawer) runs() {
	d.set("workload.runs", from(d, "runs", "1", "2"))
	own := workflowDials[1:]
	for range d.upTo(4, "dials of runs") {
		d.turn(evenly(d, "dial of runs", own...))
	}
}
