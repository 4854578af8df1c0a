package invariants

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// A handler that outlives its lock releases the promise under every preset: hardened is to have a fence
// against that, and has none so far.
var everyJobSettles = Invariant{
	Name:     "every-job-settles",
	Says:     "Every job whose submission was stored reaches a terminal state.",
	Kind:     Eventually,
	Source:   "seed 003, section 1; seed 000, residual risk window, for what no reconciler closes yet",
	Needs:    []string{"events-agree-with-servers"},
	releases: rollbackFailed | ambiguousIntent | crashBeforePublish | deadWorker | resultUnsent | deliveriesExhausted | lockOverstayed,
	check: func(f *facts, t *tally) checker {
		return checker{ended: func(*End) {
			for _, j := range f.order {
				if !j.accepted {
					continue
				}
				t.exercise()
				if !j.state.terminal() {
					t.violated(j, "is still %s, since step %d: %s", j.state, j.stateAt, j.why())
				}
			}
		}}
	},
}

// why says what keeps a job from settling, as far as the events tell.
func (j *job) why() string {
	switch {
	case j.queued.step != 0:
		return "its dispatch is still in the outbox"
	case j.classes&rollbackFailed != 0:
		return "its rollback failed"
	case j.classes&ambiguousIntent != 0 && j.state == dispatched:
		return "its DISPATCHED write was applied although the caller saw an error, and nothing was published"
	case j.classes&crashBeforePublish != 0:
		return "the scheduler crashed between the DISPATCHED write and the publish"
	case j.classes&deadWorker != 0:
		return fmt.Sprintf("it was dispatched to %s, which was dead or died", j.dispatches[len(j.dispatches)-1].worker)
	case j.classes&resultUnsent != 0:
		return "its result was never published"
	case j.classes&deliveriesExhausted != 0:
		if j.classes&(lockLeft|ambiguousLock) != 0 {
			return "a message of it was given up after MaxDeliver deliveries; a lock of it that nobody would release had been left to expire"
		}
		return "a message of it was given up after MaxDeliver deliveries"
	case j.classes&lockOverstayed != 0:
		return "a handler of it outlived its lock, so that two had it at once"
	case len(j.dispatches) == 0:
		return "no dispatch was stored"
	case j.finished > 0:
		return "it was executed, but the result was not accepted"
	}
	return fmt.Sprintf("the stream stored %s, %s began and none finished",
		countOf(len(j.dispatches), "dispatch", "dispatches"), countOf(j.begun, "execution", "executions"))
}

var failedJobHasDLQEntry = Invariant{
	Name:     "failed-job-has-dlq-entry",
	Says:     "Every FAILED job has an indexed DLQ entry with the reason code and the attempts of its record.",
	Kind:     Eventually,
	Source:   "seed 003, section 1; seed 004, for the entry's shape and for the caveat of an entry lost after the terminal write",
	Needs:    []string{"events-agree-with-servers"},
	releases: dlqWriteFailed | ambiguousTerminal | crashBeforeDLQ | lockOverstayed,
	check: func(f *facts, t *tally) checker {
		return checker{ended: func(end *End) {
			for _, j := range f.order {
				if j.state != failed {
					continue
				}
				t.exercise()
				data, there := end.Redis[dlqPrefix+j.id][""]
				if !there {
					if j.dlqExpires == 0 || end.At < j.dlqExpires {
						t.violated(j, "is FAILED since step %d, but %s%s does not exist", j.stateAt, dlqPrefix, j.id)
					}
					continue
				}
				record := end.Redis[recordPrefix+j.id]
				var entry struct {
					ReasonCode string `json:"reason_code"`
					Attempts   int    `json:"attempts"`
				}
				_, indexed := end.Redis[dlqIndex][j.id]
				switch err := json.Unmarshal([]byte(data), &entry); {
				case err != nil:
					t.violated(j, "its DLQ entry cannot be read: %v", err)
				case entry.ReasonCode != record["reason_code"]:
					t.violated(j, "its DLQ entry has reason_code %q, but the record has %q", entry.ReasonCode, record["reason_code"])
				case strconv.Itoa(entry.Attempts) != record["attempts"]:
					t.violated(j, "its DLQ entry has attempts %d, but the record has %s", entry.Attempts, record["attempts"])
				case !indexed:
					t.violated(j, "its DLQ entry is not in %s", dlqIndex)
				}
			}
		}}
	},
}
