package invariants

import "strings"

// Counters of the scheduler that events can judge. The others count what no event shows: a stale
// pick, for one, happens in memory.
const (
	counterDispatched      = "jobs_dispatched"
	counterCompleted       = "jobs_completed"
	counterRollbacks       = "scheduler_dispatch_rollback_total"
	counterRollbacksFailed = "scheduler_dispatch_rollback_failed_total"
	counterFailClosed      = "scheduler_state_read_fail_closed_total"
	counterRunningsFailed  = "scheduler_running_write_failed_total"
	counterDLQWritesFailed = "scheduler_dlq_write_failed_total"
)

var countersEqualTrace = Invariant{
	Name:     "counters-equal-trace",
	Says:     "The schedulers' counters of dispatches, completions, rollbacks, failed writes and fail-closed reads equal what the events show.",
	Kind:     Eventually,
	Source:   "seed 000, publish failure recovery and next step 1; seed 001, next step 1; seed 003, section 10",
	Needs:    []string{"events-agree-with-servers"},
	releases: schedulerCrash,
	check: func(f *facts, t *tally) checker {
		return checker{ended: func(end *End) {
			if end.Metrics == nil {
				return
			}
			failedClosed := f.met[bit(failedClosed)]
			for _, j := range f.order {
				for i := range j.handlings { // those that the end has cut short
					if j.handlings[i].closed() {
						failedClosed++
					}
				}
			}
			for _, c := range []struct {
				name string
				want int
				what string
			}{
				{counterDispatched, f.count.published, "publishes of dispatches that were confirmed"},
				{counterCompleted, f.count.completed, "terminal writes that were confirmed"},
				{counterRollbacks, f.count.rollbacks, "rollback writes"},
				{counterRollbacksFailed, f.count.rollbacksFailed, "rollback writes that failed"},
				{counterRunningsFailed, f.count.runningWritesFailed, "RUNNING writes that failed"},
				{counterDLQWritesFailed, f.count.dlqsFailed, "DLQ writes that failed"},
				{counterFailClosed, failedClosed, "handlings that gave up after a failed state read"},
			} {
				t.exercise()
				if got := sum(end.Metrics, c.name); got != float64(c.want) {
					t.violated(nil, "%s is %g, but the events show %d: %s", c.name, got, c.want, c.what)
				}
			}
		}}
	},
}

// sum adds a counter up over its labels.
func sum(metrics map[string]float64, name string) (total float64) {
	for key, v := range metrics {
		if rest, ok := strings.CutPrefix(key, name); ok && (rest == "" || rest[0] == '{') {
			total += v
		}
	}
	return total
}
