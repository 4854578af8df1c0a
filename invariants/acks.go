package invariants

var ackedOnlyWhenDurable = checking(Invariant{
	Name:   "acked-only-when-durable",
	Says:   "A request is acknowledged only when its job is terminal, DISPATCHED, RUNNING or waiting for an approval, or goes on by the request of its approval; a result or a cancellation only when its job is terminal, or when the result is of an older epoch.",
	Kind:   Always,
	Source: "Scheduler internals, section 9; Dispatch ordering, the redelivery gate",
}, func(_ *facts, t *tally) checker {
	return checker{acked: func(s *step, m *message) {
		if m != nil && m.consumer == consumerResult && m.epoch < s.job.epoch {
			return // the job waits for the result of a later dispatch
		}
		t.exercise()
		state := s.job.state
		durable := state.terminal()
		what := "result"
		switch s.Phase {
		case "submit_ack":
			durable = durable || state.inFlight() || state == approvalRequired || s.job.approvalToCome(m)
			what = "request"
		case "cancel_ack":
			what = "cancellation"
		}
		if !durable {
			t.violated(s.job, "%s acknowledged the %s (seq %d, delivery %d) at step %d while the record said %s",
				Who(s.Event), what, s.Seq, s.Delivered, s.Step, state)
		}
	}}
})

// approvalToCome says whether a request other than m, which bears an approval that was given, is left to be handled,
// or was given up, which is another matter.
func (j *job) approvalToCome(m *message) bool {
	for i := range j.messages {
		other := &j.messages[i]
		if m != nil && other.seq != m.seq && !other.done && !other.lost && other.consents != "" && j.consent.granted(other.consents) != nil {
			return true
		}
	}
	return false
}
