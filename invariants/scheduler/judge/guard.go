package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

var processedMessageNotHandledAgain = checking(invariants.Invariant{
	Name:   "processed-message-not-handled-again",
	Says:   "A message whose handling is known to be done is acknowledged and not handled when it is delivered again.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 9, idempotency guard",
}, func(_ *facts, t *tally) checker {
	return checker{
		again: func(*step, *message) { t.exercise() },
		twice: func(s *step, m *message) {
			t.violated(s.about, "%s handled message %d of %s at step %d, although its handling was done before", invariants.Who(s.Event), m.seq, m.consumer, s.Step)
		},
	}
})

var noMessageGivenUp = checking(invariants.Invariant{
	Name:   "no-message-given-up",
	Says:   "No request, result or cancellation runs out of deliveries while its job still needs it.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 9, MaxDeliver; section 8, busy retry",
	Needs:  []string{"lock-released-by-owner-or-expiry"},
}, func(f *facts, t *tally) checker {
	return checker{
		acked: func(*step, *message) { t.exercise() },
		given: func(j *job, m *message) {
			if m == nil || !needsMessage(j, m) {
				return
			}
			t.violated(j, "message %d of %s was given up after %s, while the job was %s", m.seq, m.consumer,
				invariants.CountOf(int(m.delivered), "delivery", "deliveries"), j.state)
		},
	}
})

// needs says whether the job still depends on a message of its.
func needsMessage(j *job, m *message) bool {
	switch m.consumer {
	case history.ConsumerSubmit:
		return j.state == pending || j.state == scheduled
	case history.ConsumerResult:
		return j.state.inFlight() && m.epoch >= j.epoch
	}
	return j.state != absent && !j.state.terminal()
}

var terminatedMessageHasDLQEntry = checking(invariants.Invariant{
	Name:   "terminated-message-has-dlq-entry",
	Says:   "A message that can never be handled has an entry of its own in the DLQ, by its place in the stream, once it was terminated or has run out of deliveries.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 9, DLQ-first termination and MaxDeliver",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *facts, t *tally) checker {
	return checker{audited: func(*invariants.End) {
		for _, j := range f.order {
			for _, at := range unrecorded(j) {
				t.exercise()
				if !f.filed[at] {
					t.violated(j, "%s holds a request for it, but there is neither a record nor %s%s", history.StreamSys, history.DlqPrefix, at)
				}
			}
		}
	}, ended: func(*invariants.End) {
		for _, j := range f.order {
			for _, end := range j.terminated {
				t.exercise()
				if !f.filed[end.place] {
					t.violated(j, "a message of it was terminated at step %d, but %s%s was never written", end.step, history.DlqPrefix, end.place)
				}
			}
			for i := range j.messages {
				m := &j.messages[i]
				if !m.garbled || !m.abandoned {
					continue
				}
				t.exercise()
				if at := place(m.seq); !f.filed[at] {
					t.violated(j, "a message of it that nobody can read was given up after %s, but %s%s was never written",
						invariants.CountOf(int(m.delivered), "delivery", "deliveries"), history.DlqPrefix, at)
				}
			}
		}
	}}
})
