package judge

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

// Counters of the scheduler that are compared with the events. Some of the others count what no event shows: a stale
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
	counterEntries         = "dlq_entries_total"
	counterReplays         = "dlq_replays_total"
	counterReplaysDenied   = "dlq_replay_denied_total"
	counterReceived        = "jobs_received"
	counterOrphans         = "orphan_replayed"
	counterFailOpen        = "cordum_scheduler_input_fail_open_total"
	counterGivenUp         = "scheduler_messages_given_up_total"
	counterRecorded        = "saga_recorded"
	counterRolledBack      = "saga_rollback_triggered"
	counterCompensated     = "saga_compensation_dispatched"

	// A request that the cached state skips ends like one that fails closed: with nothing done after a
	// failed read. Only what is acknowledged tells them apart, so they are counted together.
	counterCachedSkips = "scheduler_state_read_cached_total"
	labelSkip          = `decision="skip"`
)

// mixedUp are the counters of what handlings did: of two that are of one job and one process, events do
// not say which is which.
var mixedUp = []string{counterFailClosed, counterFenced, counterOrphans, counterResumed, counterRollbacks, counterRollbacksFailed, counterRunningsFailed}

var countersEqualTrace = rule.New(invariants.Invariant{
	Name:   "counters-equal-trace",
	Says:   "The schedulers' counters of handled requests, replayed orphans, dispatches, completions, denials, quarantines, answers of the output policy, dead letters and what becomes of them, rollbacks, failed and fenced writes, resumed and voided intents, messages given up, recorded and submitted compensations, rollbacks of sagas and fail-closed reads equal what the events show, and that of jobs that went on without a decision is no less: it counts one whose write then fails, too. A crash leaves open whether its scheduler has counted what it did last.",
	Kind:   invariants.Eventually,
	Source: "Dispatch ordering, publish failure recovery and next step 1; State-read errors, next step 1; Scheduler internals, section 10",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ended: func(end *invariants.End) {
		if end.Metrics == nil {
			return
		}
		failedClosed := f.Reached[model.FailedClosed]
		for _, j := range f.Order {
			for i := range j.Handlings { // those that the end has cut short
				if j.Handlings[i].FailedClosed() {
					failedClosed++
				}
			}
		}
		for _, c := range []struct {
			name string
			want int
			what string
		}{
			{counterReceived, f.Count.Handed + f.Count.Taken, "requests that were delivered and not skipped, and jobs that a replayer took up"},
			{counterOrphans, f.Count.Orphans + f.Count.OrphansMaybe, "SCHEDULED writes of a replayer that were confirmed"},
			{counterDispatched, f.Count.Published, "publishes of dispatches that were confirmed, and stored"},
			{counterDuplicates, f.Count.Duplicates, "publishes of dispatches that were confirmed, of which nothing was stored"},
			{counterCompleted, f.Count.Completed, "terminal writes that were confirmed"},
			{counterRollbacks, f.Count.Rollbacks, "rollback writes"},
			{counterRollbacksFailed, f.Count.RollbacksFailed, "rollback writes that failed"},
			{counterRunningsFailed, f.Count.RunningWritesFailed, "RUNNING writes that failed"},
			{counterDLQWritesFailed, f.Count.DlqsFailed, "DLQ writes that failed"},
			{counterOutboxVoided, f.Count.Voided, "outbox entries that were dropped unpublished"},
			{counterVoids, f.Count.Voids, "messages that took the place of a dispatch"},
			{counterFenced, f.Count.Fenced, "state writes that looked and were not made"},
			{counterDenied, f.Count.Denied, "DENIED writes that were confirmed"},
			{history.CounterChecked, f.Outputs.Checked, "answers of the output policy"},
			{history.CounterQuarantine, f.Outputs.Blocked, "OUTPUT_QUARANTINED writes that were confirmed"},
			{counterEntries, f.Count.Filed, "dead letters that were confirmed"},
			{counterReplays, f.Count.Decided, "changes of dead letters by schedulers"},
			{counterReplaysDenied, f.Count.Refused, "denials of replays that schedulers wrote or saw"},
			{counterResumed, f.Count.Resumed, "dispatches of an earlier handling that a later one saw stored"},
			{counterGivenUp, f.Count.GivenUp, "messages whose last delivery was sent back"},
			{counterRecorded, f.Count.Recorded, "writes of a compensation onto a stack that were confirmed"},
			{counterRolledBack, f.Count.RolledBack, "locks of a rollback that were taken"},
			{counterCompensated, f.Count.Compensated, "submissions of compensations that were confirmed"},
			{counterFailOpen, f.Reached[model.FailOpenUsed], "SCHEDULED writes with the decision FAIL_OPEN"},
			{counterFailClosed, failedClosed, "handlings that did nothing after a failed state read"},
		} {
			if f.Mixed && slices.Contains(mixedUp, c.name) {
				continue
			}
			t.Exercise()
			got := sum(end.Metrics, c.name, "")
			if c.name == counterFailClosed {
				got += sum(end.Metrics, counterCachedSkips, labelSkip)
			}
			cutShort := f.Count.Crashes
			switch c.name {
			case history.CounterChecked:
				cutShort += f.Policy.AnswersCutShort(history.CircuitOutput, end.At)
			case counterReceived: // those in hand, and what the replayer found in another's hands
				cutShort += c.want - f.Count.Received - f.Count.Orphans
			case counterOrphans:
				cutShort += f.Count.OrphansMaybe
			case counterReplays:
				cutShort += f.Count.DecidedMaybe
			case counterReplaysDenied:
				cutShort += f.Count.RefusedMaybe
			}
			tooMany := got > float64(c.want+f.Count.Crashes) && c.name != counterFailOpen
			if tooMany || got < float64(c.want-cutShort) {
				t.Violation(nil, "%s is %g, but the events show %d: %s", c.name, got, c.want, c.what)
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
