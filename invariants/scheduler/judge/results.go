package judge

import (
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/sim"
)

var resultOfCurrentEpoch = rule.New(invariants.Invariant{
	Name:   "result-of-current-epoch",
	Says:   "With epochs, a result ends a job only if the result has the epoch of the job's record.",
	Kind:   invariants.Always,
	Source: "the hardened dispatch: a result of an older epoch is not accepted",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	audited := func(end *invariants.End) {
		rule.WithRecord(f, func(j *model.Job) {
			if j.State != model.Succeeded || j.Epoch == 0 || end.Streams == nil {
				return
			}
			t.Exercise()
			if !reportedSuccess(j, j.Epoch) {
				t.Violation(j, "is SUCCEEDED, but %s holds no result of epoch %d that says so", history.StreamSys, j.Epoch)
			}
		})
	}
	return observe.Checker{Audited: audited, Wrote: func(s *model.Step, w *model.Write) {
		j := s.About
		if s.Phase != "result_write" || s.Kind == sim.KindLate || w.Epoch == 0 {
			return
		}
		t.Exercise()
		newest, by := int64(-1), invariants.Say("without a result in its hand")
		for _, m := range j.Answers(s) {
			if m.Epoch > newest {
				newest, by = m.Epoch, invariants.Say("by a result of epoch %d", m.Epoch)
			}
		}
		if newest < w.Epoch {
			since := invariants.Clause{}
			if i := slices.IndexFunc(j.Dispatches, func(d model.Dispatch) bool { return d.Epoch == w.Epoch }); i >= 0 {
				since = invariants.Say(", dispatched at step %d", invariants.StepNo(j.Dispatches[i].Step))
			}
			t.Violation(j, "%s wrote %s at step %d %s; the record's epoch is %d%s", invariants.Who(s.Event), j.State, invariants.StepNo(s.Step), by, w.Epoch, since)
		}
	}}
})

var jobEndsAsItsResultSays = rule.New(invariants.Invariant{
	Name:   "job-ends-as-its-result-says",
	Says:   "A job that a result ends has the state that the result names, or OUTPUT_QUARANTINED instead of SUCCEEDED. If it is SUCCEEDED, it has the result's output, or the redacted one. If it is FAILED, it has the result's reason code, or dispatch_failed if the result has none. A job whose time is up is TIMEOUT, with the reason code timeout and a reason. A cancelled job is CANCELLED, with the reason code cancelled and the reason of a cancellation.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1, the states that a result leads to, and section 2, phase 1; Dead letters, failure triage model, which goes by the reason code; section 3, with a failure reason recorded",
}, func(_ *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, _ *model.Write) {
		j := s.About
		if s.Phase == "timeout_write" || s.Phase == "cancel_write" {
			t.Exercise()
			if should := unexplained(s); should != "" {
				t.Violation(j, "%s wrote %s at step %d (%s) with the reason code %q and the reason %q; it should have %s", invariants.Who(s.Event), j.State, invariants.StepNo(s.Step), s.Phase, j.ReasonCode, j.Reason, should)
			}
		}
		if s.Phase != "result_write" || !j.State.Terminal() {
			return
		}
		t.Exercise()
		why := invariants.Say("it had no result of the job in hand")
		for _, m := range j.Answers(s) {
			is, should := m.Differs(j)
			if should == "" {
				return
			}
			why = invariants.Say("its result, message %d of %s, says %s, and not %s", m.Seq, history.StreamSys, should, is)
		}
		t.Violation(j, "%s wrote %s at step %d, but %s", invariants.Who(s.Event), j.State, invariants.StepNo(s.Step), why)
	}}
})

// unexplained says which reason a job that its scheduler has ended should have; "" if it has that reason.
func unexplained(s *model.Step) (should string) {
	switch j := s.About; {
	case s.Phase == "timeout_write" && (j.ReasonCode != history.ReasonTimeout || j.Reason == ""):
		return "the code timeout, and a reason"
	case s.Phase == "cancel_write" && (j.ReasonCode != history.ReasonCancelled || !slices.Contains(j.Whys, j.Reason)):
		return "the code cancelled, and the reason of its cancellation"
	}
	return ""
}

var cancelledJobIsTold = rule.New(invariants.Invariant{
	Name:   "cancelled-job-is-told",
	Says:   "If a job is cancelled after it was dispatched and before it is over, its worker is told. The notice has the epoch of the job's last dispatch or a later one. The worker ignores a notice of an older epoch. The notice gives the reason of a cancellation of the job.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 1: cancelled by user request; a worker that does not hear of it executes the job to its end",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	judge := func(j *model.Job) {
		c := &j.Cancelled
		if c.Worker == "" {
			return
		}
		t.Exercise()
		told, newest := false, int64(0)
		for _, n := range j.Told {
			if n.Worker == c.Worker {
				told, newest = true, max(newest, n.Epoch)
			}
		}
		when := invariants.Clause{}
		if c.Step != 0 {
			when = invariants.Say(" at step %d", invariants.StepNo(c.Step))
		}
		switch {
		case !told:
			t.Violation(j, "was cancelled%s, but %s, which had it, was never told", when, c.Worker)
		case newest < c.Epoch:
			t.Violation(j, "was cancelled%s, but %s, which had epoch %d of it, was told of epoch %d only", when, c.Worker, c.Epoch, newest)
		}
	}
	return observe.Checker{
		Wrote: func(s *model.Step, w *model.Write) {
			if d := lastDispatch(s.About); s.About.State == model.Cancelled && !w.From.Terminal() && s.Phase == "cancel_write" && d != nil && d.Worker != "" {
				s.About.Cancelled = model.Cancellation{Worker: d.Worker, Epoch: d.Epoch, Step: s.Step}
			}
		},
		Changed: func(s *model.Step, c *history.Fact) {
			if c.What != history.Notice {
				return
			}
			w, err := history.Read[history.Word](c.Change.Value)
			if j := f.Jobs[w.JobID]; err == nil && j != nil && len(j.Whys) > 0 && !slices.Contains(j.Whys, w.Reason) {
				t.Violation(j, "%s told %s at step %d that it is cancelled, for the reason %q, which nobody has given", invariants.Who(s.Event), c.Worker(), invariants.StepNo(s.Step), w.Reason)
			}
		},
		Ended: func(*invariants.End) {
			for _, j := range f.Order {
				judge(j)
			}
		},
		Audited: func(end *invariants.End) {
			rule.WithRecord(f, func(j *model.Job) {
				if j.State == model.Cancelled && end.Redis[history.RecordPrefix+j.ID]["reason_code"] == history.ReasonCancelled && j.Holds(j.Epoch) {
					j.Cancelled = model.Cancellation{Worker: j.Worker, Epoch: j.Epoch}
				}
				judge(j)
			})
		},
	}
})

var illegalResultIsRefused = rule.New(invariants.Invariant{
	Name:   "illegal-result-is-refused",
	Says:   "A scheduler refuses a result without a legal status whenever it handles the result. Once the refusal is confirmed, the result is not delivered again. The result has its own entry in the DLQ.",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, section 9, DLQ-first termination: a message that can never be handled is terminated, and not retried",
	Needs:  []string{"events-agree-with-servers"},
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ended: func(*invariants.End) {
		for _, j := range f.Order {
			for i := range j.Messages {
				m := &j.Messages[i]
				if !m.Garbled || m.Consumer != history.ConsumerResult || m.Delivered == 0 || m.Lost && !m.Refusal.Tried {
					continue
				}
				t.Exercise()
				at, r := model.Place(m.Seq), m.Refusal
				switch {
				case !r.Tried:
					t.Violation(j, "its result at %s, which has no legal status, was delivered %s, and never refused", at, invariants.CountOf(int(m.Delivered), "time", "times"))
				case r.Kept != 0:
					t.Violation(j, "its result at %s, which has no legal status, was not refused at delivery %d, although it could be", at, r.Kept)
				case r.Again != 0:
					t.Violation(j, "its result at %s, which has no legal status, was refused again at step %d, although its termination was confirmed", at, invariants.StepNo(r.Again))
				case !f.HasLetter(at):
					t.Violation(j, "its result at %s, which has no legal status, was refused, but %s%s was never written", at, history.DlqPrefix, at)
				}
			}
		}
	}}
})

// lastDispatch returns the last dispatch that a stream stored, whatever the record says; nil if there is
// none.
func lastDispatch(j *model.Job) *model.Dispatch {
	if n := len(j.Dispatches); n > 0 {
		return &j.Dispatches[n-1]
	}
	return nil
}
