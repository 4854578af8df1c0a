package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

var ackedOnlyWhenDurable = checking(invariants.Invariant{
	Name:   "acked-only-when-durable",
	Says:   "A request is acknowledged only when its job is terminal, DISPATCHED, RUNNING or waiting for an approval, or goes on by the request of its approval; a result or a cancellation only when its job is terminal, or when the result is of an older epoch.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 9; Dispatch ordering, the redelivery gate",
}, func(_ *facts, t *tally) checker {
	return checker{acked: func(s *step, m *message) {
		if m != nil && m.consumer == history.ConsumerResult && m.epoch < s.about.epoch {
			return // the job waits for the result of a later dispatch
		}
		t.exercise()
		state := s.about.state
		durable := state.terminal()
		what := "result"
		switch s.Phase {
		case "submit_ack":
			durable = durable || state.inFlight() || state == approvalRequired || approvalToCome(s.about, m)
			what = "request"
		case "cancel_ack":
			what = "cancellation"
		}
		if !durable {
			t.violated(s.about, "%s acknowledged the %s (seq %d, delivery %d) at step %d while the record said %s",
				invariants.Who(s.Event), what, s.Seq, s.Delivered, s.Step, state)
		}
	}}
})

// approvalToCome says whether a request other than m, which bears an approval that was given, is left to be handled,
// or was given up, which is another matter.
func approvalToCome(j *job, m *message) bool {
	for i := range j.messages {
		other := &j.messages[i]
		if m != nil && other.seq != m.seq && !other.done && !other.lost && other.consents != "" && j.consent.granted(other.consents) != nil {
			return true
		}
	}
	return false
}
