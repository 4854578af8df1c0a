package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var dispatchAckedOnlyWhenAnswered = rule.New(invariants.Invariant{
	Name:   "dispatch-acked-only-when-answered",
	Says:   "A worker acknowledges a dispatch only once a result of the dispatch is stored, or once the worker was told that the job is cancelled.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 9, for workers as for schedulers: what was acknowledged comes no more",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Done: func(s *model.Step) {
		given, open := s.About.Owes(s)
		if !given {
			return
		}
		t.Exercise()
		if open != nil {
			t.Violation(s.About, "%s acknowledged the dispatch (seq %d, epoch %d) at step %d, although the stream had no result of it, and nobody had told the worker to drop it",
				s.Node, open.Seq, open.Epoch, invariants.StepNo(s.Step))
		}
	}}
})

var ackedOnlyWhenDurable = rule.New(invariants.Invariant{
	Name:   "acked-only-when-durable",
	Says:   "A scheduler acknowledges a request only if its job is terminal, DISPATCHED, RUNNING or waiting for an approval, or if the job goes on by the request of its approval. It acknowledges a result or a cancellation only if its job is terminal, or if the result has an older epoch. For a message that was handled before, the job's state at that time counts.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 9; Dispatch ordering, the redelivery gate",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Acked: func(s *model.Step, m *model.Message) {
		if m != nil && m.Consumer == history.ConsumerResult && m.Epoch < s.About.Epoch {
			return // the job waits for the result of a later dispatch
		}
		t.Exercise()
		state, toCome := s.About.State, s.About.ApprovalToCome(m)
		if m != nil && m.Guard.Skipped {
			state, toCome = m.Guard.Handled, m.Guard.ToCome
		}
		durable := state.Terminal()
		what := "result"
		switch s.Phase {
		case "submit_ack":
			durable = durable || state.InFlight() || state == model.ApprovalRequired || toCome
			what = "request"
		case "cancel_ack":
			what = "cancellation"
		}
		if !durable {
			t.Violation(s.About, "%s acknowledged the %s (seq %d, delivery %d) at step %d while %s",
				invariants.Who(s.Event), what, s.Seq, s.Delivered, invariants.StepNo(s.Step), state.Record())
		}
	}}
})

var unconfirmedAckIsSentAgain = rule.New(invariants.Invariant{
	Name:   "unconfirmed-ack-is-sent-again",
	Says:   "With confirm_acks, if an ack fails or nats-server does not confirm it, the process sends it again within its retry delay and its timeout, until ack_wait is over. A scheduler does the same with a nak or a term that it could not send. A process that is away is not judged.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 9: JetStream redelivers what is not acknowledged, after AckWait",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Resent: func(j *model.Job, u *model.Unconfirmed, late bool) {
		t.Exercise()
		if late {
			t.Violation(j, "the %s that %s sent at step %d has failed, and was not sent again within %s", u.Kind, u.Process, invariants.StepNo(u.Step), u.Within)
		}
	}}
})
