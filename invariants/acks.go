package invariants

var ackedOnlyWhenDurable = Invariant{
	Name:     "acked-only-when-durable",
	Says:     "A request is acknowledged only when its job is terminal, DISPATCHED, RUNNING or waiting for an approval; a result only when its job is terminal.",
	Kind:     Always,
	Source:   "seed 003, section 9; seed 000, the redelivery gate",
	releases: lockOverstayed,
	check: func(_ *facts, t *tally) checker {
		return checker{acked: func(s *step) {
			t.exercise()
			state := s.job.state
			durable := state.terminal()
			what := "result"
			if s.Phase == "submit_ack" {
				durable = durable || state.inFlight() || state == approvalRequired
				what = "request"
			}
			if !durable {
				t.violated(s.job, "%s acknowledged the %s (seq %d, delivery %d) at step %d while the record said %s",
					who(s.Event), what, s.Seq, s.Delivered, s.Step, state)
			}
		}}
	},
}
