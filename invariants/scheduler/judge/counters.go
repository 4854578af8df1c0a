package judge

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"
)

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
	counterOutboxVoided    = "scheduler_outbox_voided_total"
	counterVoids           = "scheduler_intents_voided_total"
	counterDuplicates      = "scheduler_duplicate_publishes_total"
	counterFenced          = "scheduler_fenced_writes_total"
	counterResumed         = "scheduler_intents_resumed_total"
	counterDenied          = "safety_denied"
	counterReceived        = "jobs_received"
	counterOrphans         = "orphan_replayed"

	// A request that the cached state skips ends like one that fails closed: with nothing done after a
	// failed read. Only what is acknowledged tells them apart, so they are counted together.
	counterCachedSkips = "scheduler_state_read_cached_total"
	labelSkip          = `decision="skip"`
)

// mixedUp are the counters of what handlings did: of two that are of one job and one process, events do
// not say which is which.
var mixedUp = []string{counterFailClosed, counterFenced, counterOrphans, counterResumed, counterRollbacks, counterRollbacksFailed, counterRunningsFailed}

var countersEqualTrace = checking(invariants.Invariant{
	Name:   "counters-equal-trace",
	Says:   "The schedulers' counters of handled requests, replayed orphans, dispatches, completions, denials, quarantines, answers of the output policy, rollbacks, failed and fenced writes, resumed and voided intents and fail-closed reads equal what the events show.",
	Kind:   invariants.Eventually,
	Source: "Dispatch ordering, publish failure recovery and next step 1; State-read errors, next step 1; Scheduler internals, section 10",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *facts, t *tally) checker {
	return checker{ended: func(end *invariants.End) {
		if end.Metrics == nil {
			return
		}
		failedClosed := f.reached[failedClosed]
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
			{counterReceived, f.count.handed + f.count.taken, "requests that were delivered and not skipped, and jobs that a replayer took up"},
			{counterOrphans, f.count.orphans + f.count.orphansMaybe, "SCHEDULED writes of a replayer that were confirmed"},
			{counterDispatched, f.count.published, "publishes of dispatches that were confirmed, and stored"},
			{counterDuplicates, f.count.duplicates, "publishes of dispatches that were confirmed, of which nothing was stored"},
			{counterCompleted, f.count.completed, "terminal writes that were confirmed"},
			{counterRollbacks, f.count.rollbacks, "rollback writes"},
			{counterRollbacksFailed, f.count.rollbacksFailed, "rollback writes that failed"},
			{counterRunningsFailed, f.count.runningWritesFailed, "RUNNING writes that failed"},
			{counterDLQWritesFailed, f.count.dlqsFailed, "DLQ writes that failed"},
			{counterOutboxVoided, f.count.voided, "outbox entries that were dropped unpublished"},
			{counterVoids, f.count.voids, "messages that took the place of a dispatch"},
			{counterFenced, f.count.fenced, "state writes that looked and were not made"},
			{counterDenied, f.count.denied, "DENIED writes that were confirmed"},
			{history.CounterChecked, f.outputs.checked, "answers of the output policy"},
			{history.CounterQuarantine, f.outputs.blocked, "OUTPUT_QUARANTINED writes that were confirmed"},
			{counterResumed, f.count.resumed, "dispatches of an earlier handling that a later one saw stored"},
			{counterFailClosed, failedClosed, "handlings that did nothing after a failed state read"},
		} {
			if f.mixed && slices.Contains(mixedUp, c.name) {
				continue
			}
			t.exercise()
			got := sum(end.Metrics, c.name, "")
			if c.name == counterFailClosed {
				got += sum(end.Metrics, counterCachedSkips, labelSkip)
			}
			cutShort := 0
			switch c.name {
			case history.CounterChecked:
				cutShort = f.policy.answersCutShort(history.CircuitOutput, end.At)
			case counterReceived: // those in hand, and what the replayer found in another's hands
				cutShort = c.want - f.count.received - f.count.orphans
			case counterOrphans:
				cutShort = f.count.orphansMaybe
			}
			if got > float64(c.want) || got < float64(c.want-cutShort) {
				t.violated(nil, "%s is %g, but the events show %d: %s", c.name, got, c.want, c.what)
			}
		}
	}}
})

// sum adds a counter up over its labels, or over those of its series that have the given one.
func sum(metrics map[string]float64, name, label string) (total float64) {
	for key, v := range metrics {
		if rest, ok := strings.CutPrefix(key, name); ok && (rest == "" || rest[0] == '{') && strings.Contains(rest, label) {
			total += v
		}
	}
	return total
}
