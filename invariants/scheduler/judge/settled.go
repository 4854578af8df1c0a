package judge

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"
)

var everyJobSettles = checking(invariants.Invariant{
	Name:   "every-job-settles",
	Says:   "Every job that has a record, or whose submission was stored, reaches a terminal state, unless it waits for an approval, or for a safety kernel that throttles it to the end.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 1; Dispatch ordering, residual risk window, for what no reconciler closes yet",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *facts, t *tally) checker {
	judge := func(end *invariants.End) {
		for _, j := range f.order {
			if !j.accepted || j.state == absent && f.poisoned(j) || unapproved(f, j, end.At) || f.throttled(j, end.At) {
				continue
			}
			t.exercise()
			if !j.state.terminal() {
				t.violated(j, "is still %s%s: %s", j.state, sinceStep(j), whyUnsettled(j))
			}
		}
	}
	return checker{ended: judge, audited: func(*invariants.End) { auditSettled(f, t) }}
})

// why says what keeps a job from settling, as far as the events tell.
func whyUnsettled(j *job) string {
	switch {
	case j.queued.step != 0:
		return "its dispatch is still in the outbox"
	case j.had(rollbackFailed):
		return "its rollback failed"
	case j.had(ambiguousIntent) && j.state == dispatched:
		return "its DISPATCHED write was applied although the caller saw an error, and nothing was published"
	case j.had(crashWithIntent) && j.state == dispatched:
		return "the scheduler crashed between the DISPATCHED write and the publish"
	case j.had(deadWorker):
		return fmt.Sprintf("it was dispatched to %s, which was dead or died", j.dispatches[len(j.dispatches)-1].worker)
	case j.had(resultUnsent):
		return "its result was never published"
	case j.state == pending && j.putOff != 0:
		return "the safety kernel throttles it, and nobody is left to ask again"
	case j.had(deliveriesExhausted):
		if j.had(lockLeft) {
			return "a message of it was given up after MaxDeliver deliveries; a lock of it that nobody would release had been left to expire"
		}
		return "a message of it was given up after MaxDeliver deliveries"
	case j.had(lockOverstayed):
		return "a handler of it outlived its lock, so that two had it at once"
	case j.had(tailLost):
		return "nats-server lost a message of it with its power"
	case len(j.dispatches) == 0:
		return "no dispatch was stored"
	case j.finished > 0:
		return "it was executed, but the result was not accepted"
	}
	return fmt.Sprintf("the stream stored %s, %s began and none finished",
		invariants.CountOf(len(j.dispatches), "dispatch", "dispatches"), invariants.CountOf(j.begun, "execution", "executions"))
}

var failedNeverPrecedesItsDLQEntry = checking(invariants.Invariant{
	Name:   "failed-never-precedes-its-dlq-entry",
	Says:   "In every dlq_order but the documented one, FAILED, DENIED or OUTPUT_QUARANTINED is written only once the job has its DLQ entry.",
	Kind:   invariants.Always,
	Source: "Dead letters, the caveat of an entry lost after the terminal write",
}, func(f *facts, t *tally) checker {
	if f.config.DLQOrder == "state-then-dlq" {
		return checker{}
	}
	return checker{wrote: func(s *step, w *write) {
		if !s.about.state.buried() || w.from == s.about.state {
			return
		}
		t.exercise()
		if !s.about.entered {
			t.violated(s.about, "%s wrote %s at step %d (%s), before %s%s was written", invariants.Who(s.Event), s.about.state, s.Step, s.Phase, history.DlqPrefix, s.about.id)
		}
	}}
})

var failedJobHasDLQEntry = checking(invariants.Invariant{
	Name:   "failed-job-has-dlq-entry",
	Says:   "Every FAILED, DENIED or OUTPUT_QUARANTINED job has an indexed DLQ entry with the reason code and the attempts of its record.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 1; Dead letters, for the entry's shape and for the caveat of an entry lost after the terminal write",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *facts, t *tally) checker {
	judge := func(end *invariants.End) {
		for _, j := range f.order {
			if !j.state.buried() {
				continue
			}
			t.exercise()
			data, there := end.Redis[history.DlqPrefix+j.id][""]
			if !there {
				if j.dlqExpires == 0 || end.At < j.dlqExpires {
					t.violated(j, "is %s%s, but %s%s does not exist", j.state, sinceStep(j), history.DlqPrefix, j.id)
				}
				continue
			}
			record := end.Redis[history.RecordPrefix+j.id]
			var entry struct {
				ReasonCode string `json:"reason_code"`
				Attempts   int    `json:"attempts"`
			}
			_, indexed := end.Redis[history.DlqIndex][j.id]
			switch err := json.Unmarshal([]byte(data), &entry); {
			case err != nil:
				t.violated(j, "its DLQ entry cannot be read: %v", err)
			case entry.ReasonCode != record["reason_code"]:
				t.violated(j, "its DLQ entry has reason_code %q, but the record has %q", entry.ReasonCode, record["reason_code"])
			case strconv.Itoa(entry.Attempts) != record["attempts"]:
				t.violated(j, "its DLQ entry has attempts %d, but the record has %s", entry.Attempts, record["attempts"])
			case !indexed:
				t.violated(j, "its DLQ entry is not in %s", history.DlqIndex)
			}
		}
	}
	return checker{ended: judge, audited: judge}
})
