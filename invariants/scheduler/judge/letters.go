package judge

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
	"github.com/wavetank-sim/wavetank/sim"
)

var deadLetterTellsItsFailure = rule.New(invariants.Invariant{
	Name:   "dead-letter-tells-its-failure",
	Says:   "A dead letter has the time at which it is written. A job's letter has the tenant of a request of the job and, if the job is a step, its run. A message's letter has the time at which the stream stored the message. A decision of triage, a replay or a person does not change what the letter says of the failure.",
	Kind:   invariants.Always,
	Source: "Dead letters, DLQ entry shape for triage; the fields beyond those are the testbed's own",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{LetterFiled: func(s *model.Step, id string, was, is *history.DeadLetter) {
		if s.Kind == sim.KindLate {
			return
		}
		t.Exercise()
		about, at := f.Jobs[id], invariants.StepNo(s.Step)
		if model.ChangesLetter(s) {
			kept := was.Failure
			if kept.Run == "" {
				kept.Run = is.Run // its writer had not read the run
			}
			if field := kept.Unlike(&is.Failure); field != "" {
				t.Violation(about, "%s changed %s at step %d, and with what is decided its %s", invariants.Who(s.Event), history.DlqPrefix+id, at, field)
			}
			return
		}
		timely := func(what string, is, least time.Duration) {
			if is > s.At || is < least-model.Slack {
				t.Violation(about, "%s wrote %s at step %d (%s), which says that %s at %s", invariants.Who(s.Event), history.DlqPrefix+id, at, s.At, what, is)
			}
		}
		if f.Undisturbed(s) {
			timely("it was written", f.Workflow.Since(is.CreatedAt), s.At-f.Config.StoreOpTimeout)
		}
		if model.OfMessage(id) {
			timely("the stream stored its message", time.Unix(0, is.MessageAt).Sub(f.Workflow.Began), storedAt(f, s, id)-f.Config.PublishTimeout)
			return
		}
		if about == nil || about != s.About {
			return
		}
		if asked := everyRequest(about); len(asked) > 0 && !slices.ContainsFunc(asked, func(r *history.Request) bool { return r.Tenant == is.Tenant }) {
			t.Violation(about, "its dead letter of step %d is of the tenant %q, and no request of it is", at, is.Tenant)
		}
		if h := s.Handling; h != nil && h.ReadFailed == 0 && about.MadeAt < h.Lock && model.IsStep(about) && is.Run != about.Saga.Workflow {
			t.Violation(about, "its dead letter of step %d is of the run %q, and it is a step of %q", at, is.Run, about.Saga.Workflow)
		}
	}}
})

// everyRequest returns all requests that the job has had.
func everyRequest(j *model.Job) []*history.Request {
	if j.Request == nil {
		return j.Earlier
	}
	return append(j.Earlier[:len(j.Earlier):len(j.Earlier)], j.Request)
}

// storedAt returns when the stream first stored a message at the place that the dead letter with that ID names; 0 if that is unknown.
func storedAt(f *model.Facts, s *model.Step, id string) (at time.Duration) {
	if s.About == nil {
		return 0
	}
	for i := range s.About.Messages {
		if m := &s.About.Messages[i]; model.Place(m.Seq) == id && at == 0 {
			at = m.Stored
		}
	}
	return at
}
