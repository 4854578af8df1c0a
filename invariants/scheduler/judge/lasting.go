package judge

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/sim"
)

// failuresKept is how much longer than circuit_open_for the shared counter of a circuit lasts.
const failuresKept = 30 * 24 * time.Hour

// lasting returns the TTL of each sort of key at a write; a Most of 0 is no TTL. Other invariants judge the TTLs of locks, dead
// letters, stacks and runs.
var lasting = map[history.What]func(*config.Config) config.Span{
	history.Processed: func(c *config.Config) config.Span { return config.Span{Least: c.AckWait, Most: c.AckWait} },
	history.Inflight:  func(c *config.Config) config.Span { return config.Span{Least: c.InflightTTL, Most: c.InflightTTL} },
	history.Committed: func(c *config.Config) config.Span { return config.Span{Least: c.DLQEntryTTL, Most: c.DLQEntryTTL} },
	history.Finding: func(c *config.Config) config.Span { // EXPIRE counts in seconds
		return config.Span{Least: c.DLQEntryTTL.Truncate(time.Second), Most: c.DLQEntryTTL}
	},
	history.Breaker: func(c *config.Config) config.Span {
		return config.Span{Least: c.Policy.OpenFor + failuresKept, Most: c.Policy.OpenFor + failuresKept}
	},
	history.Probes: func(c *config.Config) config.Span {
		return config.Span{Least: c.Policy.OpenFor, Most: c.Policy.OpenFor}
	},
	history.Successes: func(c *config.Config) config.Span { // as long as the failures still do
		return config.Span{Most: c.Policy.OpenFor + failuresKept}
	},
	history.Record: forEver, history.StateIndex: forEver, history.Deadlines: forEver, history.Outbox: forEver, history.Snapshot: forEver,
	history.LetterIndex: forEver, history.LettersDue: forEver, history.Growth: forEver, history.Scans: forEver, history.Rollbacks: forEver,
	history.Timers: forEver, history.LiveRuns: forEver, history.Audited: forEver, history.Slots: forEver,
}

// lastChange says whether c is the step's last change of its key. Only that shows the TTL of a hash.
func lastChange(s *model.Step, c *sim.Change) bool {
	for i := range slices.Backward(s.Changes) {
		if s.Changes[i].Key == c.Key {
			return &s.Changes[i] == c
		}
	}
	return false
}

func forEver(*config.Config) config.Span { return config.Span{} }

var keysLastAsStated = rule.New(invariants.Invariant{
	Name:   "keys-last-as-stated",
	Says:   "Each key of Redis has the TTL that the documents or the settings give it: the marks of messages that are processed or in flight, the record of an output's check, the record of who committed an idempotency key, and the counters of a circuit. Indexes and records that are kept for good have none. A handler deletes the mark of a message in flight before it answers the message, unless Redis refuses.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 9: cordum:bus:processed and cordum:bus:inflight, which is deleted after the handler completes; Dead letters, 30 days",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	answered := func(s *model.Step, m *model.Message) {
		if m != nil && f.LeftInFlight(s, m) {
			t.Violation(s.About, "%s answered message %d of %s at step %d, and left its mark in flight", invariants.Who(s.Event), m.Seq, m.Consumer, invariants.StepNo(s.Step))
		}
	}
	return observe.Checker{
		Acked: answered, SentBack: answered, Termed: answered,
		Changed: func(s *model.Step, c *history.Fact) {
			of := lasting[c.What]
			if of == nil || c.Change.Gone || !lastChange(s, c.Change) {
				return
			}
			t.Exercise()
			due, left := of(&f.Config), c.Change.Expires-s.At
			switch {
			case c.Change.Expires == 0 && due.Most == 0:
			case c.Change.Expires == 0:
				t.Violation(f.Jobs[c.Job], "%s wrote %s at step %d, and it never expires; it is to last for %s at most", invariants.Who(s.Event), c.Change.Key, invariants.StepNo(s.Step), due.Most)
			case due.Most == 0:
				t.Violation(f.Jobs[c.Job], "%s wrote %s at step %d, and it expires %s later; it is to last for ever", invariants.Who(s.Event), c.Change.Key, invariants.StepNo(s.Step), left)
			case left < due.Least-model.Slack, left > due.Most+model.Slack:
				t.Violation(f.Jobs[c.Job], "%s wrote %s at step %d to last for %s; it is to last for %s", invariants.Who(s.Event), c.Change.Key, invariants.StepNo(s.Step), left, due.Most)
			}
		},
	}
})
