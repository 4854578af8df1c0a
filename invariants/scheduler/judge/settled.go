package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var everyJobSettles = rule.New(invariants.Invariant{
	Name:   "every-job-settles",
	Says:   "Every job reaches a terminal state if it has a record, or if its submission is stored and can be read. A job that waits for an approval, or that a safety kernel throttles to the end, need not.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 1; Dispatch ordering, residual risk window, for what no reconciler closes yet",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	judge := func(end *invariants.End) {
		for _, j := range f.Order {
			if !j.Accepted || f.Poisoned(j) || f.Unapproved(j, end.At) || f.Throttled(j, end.At) {
				continue
			}
			t.Exercise()
			if !j.State.Terminal() {
				is := "is still " + j.State.String()
				if j.State == model.Absent {
					is = "has no record"
				}
				t.Violation(j, "%s%s: %s", is, rule.SinceStep(j), whyUnsettled(j))
			}
		}
	}
	return observe.Checker{Ended: judge, Audited: func(*invariants.End) { auditSettled(f, t) }}
})

// whyUnsettled says what keeps a job from settling, as far as events show it.
func whyUnsettled(j *model.Job) string {
	switch {
	case j.State == model.Absent && j.StateAt > 0:
		return "Redis lost it"
	case j.Queued.Step != 0:
		return "its dispatch is still in the outbox"
	case j.Had(model.RollbackFailed):
		return "its rollback failed"
	case j.Had(model.AmbiguousIntent) && j.State == model.Dispatched:
		return "its DISPATCHED write was applied although the caller saw an error, and nothing was published"
	case j.Had(model.CrashWithIntent) && j.State == model.Dispatched:
		return "the scheduler crashed between the DISPATCHED write and the publish"
	case j.Had(model.DeadWorker):
		return fmt.Sprintf("it was dispatched to %s, which was dead or died", j.Dispatches[len(j.Dispatches)-1].Worker)
	case j.Had(model.ResultUnsent):
		return "its result was never published"
	case j.State == model.Pending && j.PutOff != 0:
		return "the safety kernel throttles it, and nobody is left to ask again"
	case j.Had(model.DeliveriesExhausted):
		if j.Had(model.LockLeft) {
			return "a message of it was given up after MaxDeliver deliveries; a lock of it that nobody would release had been left to expire"
		}
		return "a message of it was given up after MaxDeliver deliveries"
	case j.Had(model.LockOverstayed):
		return "a handler of it outlived its lock, so that two had it at once"
	case j.Had(model.TailLost):
		return "nats-server lost a message of it with its power"
	case len(j.Dispatches) == 0:
		return "no dispatch was stored"
	case j.Finished > 0:
		return "it was executed, but the result was not accepted"
	}
	return fmt.Sprintf("the stream stored %s, %s began and none finished",
		invariants.CountOf(len(j.Dispatches), "dispatch", "dispatches"), invariants.CountOf(j.Begun, "execution", "executions"))
}

var failedNeverPrecedesItsDLQEntry = rule.New(invariants.Invariant{
	Name:   "failed-never-precedes-its-dlq-entry",
	Says:   "In every dlq_order but the documented one, a scheduler writes FAILED, DENIED or OUTPUT_QUARANTINED only once the job has its DLQ entry.",
	Kind:   invariants.Always,
	Source: "Dead letters, the caveat of an entry lost after the terminal write",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	if f.Config.DLQOrder == "state-then-dlq" {
		return observe.Checker{}
	}
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		if !s.About.State.Buried() || w.From == s.About.State {
			return
		}
		t.Exercise()
		if !s.About.Entered {
			t.Violation(s.About, "%s wrote %s at step %d (%s), before %s%s was written", invariants.Who(s.Event), s.About.State, invariants.StepNo(s.Step), s.Phase, history.DlqPrefix, s.About.ID)
		}
	}}
})

var failedJobHasDLQEntry = rule.New(invariants.Invariant{
	Name:   "failed-job-has-dlq-entry",
	Says:   "Every FAILED, DENIED or OUTPUT_QUARANTINED job has an indexed DLQ entry. The entry has the state, the reason code, the reason, the attempts and the policy snapshot of the job's record, and the topic and the idempotency key of a request of the job. The reason code of a DENIED job is safety_denied. The entry says that the result is final if the result that ended the job does. An entry lasts for dlq_entry_ttl. A decision on an entry does not extend that time. An entry that was written before the state may have the reason, the snapshot and the finality of an earlier try.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 1, and section 5, reason codes; Dead letters, for the entry's shape and for the caveat of an entry lost after the terminal write",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	judge := func(end *invariants.End) {
		for _, j := range f.Order {
			if !j.State.Buried() {
				continue
			}
			t.Exercise()
			if data, there := end.Redis[history.DlqPrefix+j.ID][""]; there {
				entry, err := history.Read[history.DeadLetter](data)
				if err != nil {
					t.Violation(j, "its DLQ entry cannot be read: %v", err)
					continue
				}
				field, is, should := letterDiffers(f, j, entry, end.Redis[history.RecordPrefix+j.ID])
				final, sure := j.CalledFinal()
				switch {
				case field != "":
					t.Violation(j, "its DLQ entry has %s %q, but the record has %q", field, is, should)
					continue
				case j.State == model.Denied && entry.ReasonCode != history.ReasonDenied:
					t.Violation(j, "its DLQ entry has reason_code %q, although the safety kernel has denied it", entry.ReasonCode)
					continue
				case sure && j.State == model.Failed && f.Config.DLQOrder != history.DlqThenState && entry.Fatal != final:
					t.Violation(j, "its DLQ entry says that its failure is final: %t; its worker's result says %t", entry.Fatal, final)
					continue
				}
			}
			if what, amiss := rule.EntryAmiss(f, end, j.ID, &j.Filing); amiss {
				t.Violation(j, "is %s%s, but %s%s %s", j.State, rule.SinceStep(j), history.DlqPrefix, j.ID, what)
			}
		}
	}
	return observe.Checker{Ended: judge, Audited: judge}
})

// letterDiffers names a field in which a job's dead letter differs from the record, or "".
func letterDiffers(f *model.Facts, j *model.Job, entry *history.DeadLetter, record map[string]string) (field, is, should string) {
	fields := [...]struct{ name, is, should string }{
		{"status", entry.Status, record["state"]},
		{"reason_code", entry.ReasonCode, record["reason_code"]},
		{"attempts", strconv.Itoa(entry.Attempts), record["attempts"]},
		{"reason", entry.Reason, record["reason"]},
		{"policy_snapshot", entry.Snapshot, record["policy_snapshot"]},
	}
	last := len(fields)
	if f.Config.DLQOrder == "dlq-then-state" {
		last = 3
	}
	for _, c := range fields[:last] {
		if c.is != c.should {
			return c.name, c.is, c.should
		}
	}
	// An audit does not know what else was requested under the job's name.
	if r := j.Request; r != nil && j.StateAt != 0 && !slices.ContainsFunc(append(j.Earlier[:len(j.Earlier):len(j.Earlier)], r), func(r *history.Request) bool {
		return r.Topic == entry.Topic && cmp.Or(r.IdempotencyKey, j.ID) == entry.Key
	}) {
		return "topic and idempotency_key", entry.Topic + ", " + entry.Key, r.Topic + ", " + cmp.Or(r.IdempotencyKey, j.ID)
	}
	return "", "", ""
}
