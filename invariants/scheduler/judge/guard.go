package judge

import (
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var processedMessageNotHandledAgain = rule.New(invariants.Invariant{
	Name:   "processed-message-not-handled-again",
	Says:   "If the handling of a message is known to be done, a scheduler acknowledges the message when it is delivered again, and does not handle it. With idempotency_guard, the scheduler notes the handling in Redis before the ack, for AckWait, unless Redis refuses the note.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 9, idempotency guard",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{
		Acked: func(s *model.Step, m *model.Message) {
			if !f.Guards(s, m) {
				return
			}
			t.Exercise()
			switch g := &m.Guard; {
			case g.For == 0:
				t.Violation(s.About, "%s acknowledged message %d of %s at step %d, and had not noted in Redis that it was handled", invariants.Who(s.Event), m.Seq, m.Consumer, invariants.StepNo(s.Step))
			case g.Until == 0:
				t.Violation(s.About, "Redis never forgets that message %d of %s was handled, which %s acknowledged at step %d", m.Seq, m.Consumer, invariants.Who(s.Event), invariants.StepNo(s.Step))
			case (g.For - f.Config.AckWait).Abs() > model.Slack:
				t.Violation(s.About, "Redis knows for %s that message %d of %s was handled, which %s acknowledged at step %d, and AckWait is %s", g.For, m.Seq, m.Consumer, invariants.Who(s.Event), invariants.StepNo(s.Step), f.Config.AckWait)
			}
		},
		Again: func(*model.Step, *model.Message) { t.Exercise() },
		Twice: func(s *model.Step, m *model.Message) {
			t.Violation(s.About, "%s handled message %d of %s at step %d, although its handling was done before", invariants.Who(s.Event), m.Seq, m.Consumer, invariants.StepNo(s.Step))
		},
	}
})

var noMessageGivenUp = rule.New(invariants.Invariant{
	Name:   "no-message-given-up",
	Says:   "No request, result or cancellation runs out of deliveries while its job still needs it. While a scheduler is up, none of them stays unanswered for longer than AckWait. The same holds for a dispatch while its worker is up and has nothing else to do.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 9, MaxDeliver; section 7, retry delays",
	Needs:  []string{"lock-released-by-owner-or-expiry"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{
		Acked: func(*model.Step, *model.Message) { t.Exercise() },
		Given: func(j *model.Job, m *model.Message) {
			if m == nil || !needsMessage(j, m) {
				return
			}
			violated := t.Violation
			if m.Consumer == history.ConsumerSubmit && j.PutOff != 0 {
				violated = t.ViolationInGap
			}
			was := "was " + j.State.String()
			if j.State == model.Absent {
				was = "had no record"
			}
			violated(j, "message %d of %s was given up after %s, while the job %s", m.Seq, m.Consumer,
				invariants.CountOf(int(m.Delivered), "delivery", "deliveries"), was)
		},
		Ended: func(end *invariants.End) {
			if !end.InTime {
				return
			}
			for _, j := range f.Order {
				if m := f.LeftMessage(j, end.At); m != nil {
					t.Violation(j, "nobody has answered message %d of %s, stored %s ago, after %s", m.Seq, m.Consumer,
						(end.At - m.Stored).Round(time.Second), invariants.CountOf(int(m.Delivered), "delivery", "deliveries"))
				}
				if d := f.LeftDispatch(j, end.At); d != nil {
					t.Violation(j, "%s has not answered the dispatch (seq %d, stored at step %d, %s ago)", d.Worker, d.Seq, invariants.StepNo(d.Step), (end.At - d.At).Round(time.Second))
				}
			}
		},
	}
})

// needsMessage says whether the job still depends on one of its messages.
func needsMessage(j *model.Job, m *model.Message) bool {
	switch m.Consumer {
	case history.ConsumerSubmit:
		return !m.Garbled && (j.State == model.Absent || j.State == model.Pending || j.State == model.Scheduled)
	case history.ConsumerResult:
		return !m.Garbled && j.State.InFlight() && m.Epoch >= j.Epoch
	}
	return j.State != model.Absent && !j.State.Terminal()
}

var onlyPoisonIsTerminated = rule.New(invariants.Invariant{
	Name:   "only-poison-is-terminated",
	Says:   "A scheduler terminates a message only if the message can never be handled: a request that cannot be read, or a result without a legal status.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 9, DLQ-first termination: a message that is terminated comes no more",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Termed: func(s *model.Step, m *model.Message) {
		if m == nil {
			return
		}
		t.Exercise()
		if !s.About.Unreadable(m.Seq) {
			t.Violation(s.About, "%s terminated message %d of %s at step %d, which can be handled", invariants.Who(s.Event), m.Seq, m.Consumer, invariants.StepNo(s.Step))
		}
	}}
})

var terminatedMessageHasDLQEntry = rule.New(invariants.Invariant{
	Name:   "terminated-message-has-dlq-entry",
	Says:   "A message that can never be handled gets its own entry in the DLQ once it is terminated or has run out of deliveries. The entry is named by the message's place in the stream. It is in the index, and lasts for dlq_entry_ttl.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 9, DLQ-first termination and MaxDeliver",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Audited: func(*invariants.End) {
		for _, j := range f.Order {
			for _, at := range unrecorded(j) {
				t.Exercise()
				if !f.HasLetter(at) {
					t.Violation(j, "%s holds a request for it, but there is neither a record nor %s%s", history.StreamSys, history.DlqPrefix, at)
				}
			}
		}
	}, Ended: func(end *invariants.End) {
		amiss := func(j *model.Job, place string) {
			if what, amiss := rule.EntryAmiss(f, end, place, f.Letter(place)); amiss {
				t.Violation(j, "%s%s, the DLQ entry of a message of it, %s", history.DlqPrefix, place, what)
			}
		}
		for _, j := range f.Order {
			for _, m := range j.Terminated {
				t.Exercise()
				if !f.HasLetter(m.Place) {
					t.Violation(j, "a message of it was terminated at step %d, but %s%s was never written", invariants.StepNo(m.Step), history.DlqPrefix, m.Place)
					continue
				}
				amiss(j, m.Place)
			}
			for i := range j.Messages {
				m := &j.Messages[i]
				if !m.Garbled || !m.Abandoned {
					continue
				}
				t.Exercise()
				at := model.Place(m.Seq)
				if !f.HasLetter(at) {
					t.Violation(j, "a message of it that nobody can read was given up after %s, but %s%s was never written",
						invariants.CountOf(int(m.Delivered), "delivery", "deliveries"), history.DlqPrefix, at)
					continue
				}
				amiss(j, at)
			}
		}
	}}
})
