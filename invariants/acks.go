package invariants

var ackedOnlyWhenDurable = Invariant{
	Name:     "acked-only-when-durable",
	Says:     "A request is acknowledged only when its job is terminal, DISPATCHED, RUNNING or waiting for an approval, or goes on by the request of its approval; a result or a cancellation only when its job is terminal, or when the result is of an older epoch.",
	Kind:     Always,
	Source:   "seed 003, section 9; seed 000, the redelivery gate",
	releases: lockOverstayed | lateWrite | oldList,
	covered:  []cover{covers(lockOverstayed|lateWrite, withFence), covers(oldList, withRecheck)},
	check: func(_ *facts, t *tally) checker {
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
				durable = durable || state.inFlight() || state == approvalRequired || s.job.goesOnBy(m)
				what = "request"
			case "cancel_ack":
				what = "cancellation"
			}
			if !durable {
				t.violated(s.job, "%s acknowledged the %s (seq %d, delivery %d) at step %d while the record said %s",
					who(s.Event), what, s.Seq, s.Delivered, s.Step, state)
			}
		}}
	},
}

// goesOnBy says whether the job has been approved, and has another request than m to go on by.
func (j *job) goesOnBy(m *message) bool {
	if len(j.consent.grants) == 0 {
		return false
	}
	for i := range j.messages {
		if other := &j.messages[i]; other.consumer == consumerSubmit && !other.done && !other.abandoned && (m == nil || other.seq != m.seq) {
			return true
		}
	}
	return false
}
