package judge

import (
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var workloadIsSubmitted = rule.New(invariants.Invariant{
	Name:   "workload-is-submitted",
	Says:   "Each job, each workflow run and each cancellation of the plan is stored. A client that tries until it succeeds is not refused for good, and it publishes again what it could not publish. The invariant is not judged if a client is away at the end. Jobs are not judged where clients give up (workload.tries).",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, sections 1 and 8: a request that is valid is PENDING, and a run RUNNING, from its submission on",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ended: func(*invariants.End) {
		if f.ClientAway() {
			return
		}
		jobs, cancelled := 0, 0
		for _, j := range f.Order {
			if history.IsClient(j.MadeBy) && j.Replay.Of == "" {
				jobs++
			}
			if f.Config.Jobs > 0 {
				judgeUnsent(f, t, j)
			}
			if slices.ContainsFunc(j.Messages, func(m model.Message) bool { return m.Consumer == history.ConsumerCancel }) {
				cancelled++
			}
		}
		for _, c := range []struct {
			stored, want int
			what         string
		}{{jobs, f.Config.Jobs, "jobs"}, {len(f.Workflow.Order), f.Config.Runs, "workflow runs"}, {cancelled, f.Config.Cancels, "cancellations"}} {
			if c.want == 0 {
				continue
			}
			t.Exercise()
			if c.stored < c.want {
				t.Violation(nil, "clients could store %d of %d %s", c.stored, c.want, c.what)
			}
		}
	}}
})

// judgeUnsent tells of what a client could not publish, and did not publish again.
func judgeUnsent(f *model.Facts, t *rule.Tally, j *model.Job) {
	for _, u := range f.Dropped(j) {
		t.Violation(j, "the %s of %s at step %d failed, nothing was stored, and %s did not publish it again", u.Phase, u.Node, invariants.StepNo(u.Step), u.Node)
	}
}

var nothingIsPublishedTwice = rule.New(invariants.Invariant{
	Name:   "nothing-is-published-twice",
	Says:   "A client publishes a request as often as its plan submits the job, and a cancellation or an approval once. A worker publishes one result each time that it is given the job. A process publishes a message again only if the message was not confirmed. Each process is counted by itself.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, sections 1 and 9: what the stream has stored is delivered until it is handled, and need not be published again",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Confirmed: func(s *model.Step, times int) {
		j, most := s.About, 1
		switch {
		case s.Phase == "result_publish":
			most = j.GivenTo(invariants.Process(s.Node, s.Incarnation))
			if f.Config.Execution(j.ID).Succeeds { // after a failure that it has reported
				most *= 2
			}
		case s.Node == history.SubmitterNode:
			most = max(1, f.Config.Submissions)
		}
		if most == 0 {
			return // nobody has seen it given
		}
		t.Exercise()
		if times > most {
			t.Violation(j, "%s was told at step %d for the %s time that the stream has what it published (%s), which it was to publish %s",
				invariants.Who(s.Event), invariants.StepNo(s.Step), invariants.Ordinal(times), s.Phase, invariants.CountOf(most, "time", "times"))
		}
	}}
})

var whatIsAskedIsStored = rule.New(invariants.Invariant{
	Name:   "what-is-asked-is-stored",
	Says:   "A client stores what its plan asks for, field by field: the request of a job, in its record and in the stream; a workflow run; and the reason of a cancellation.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, sections 1, 5 and 8: a job is decided on, placed and bounded by its request, and a run goes by its steps",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	ask := &f.Config.Asked
	return observe.Checker{
		Wrote: func(s *model.Step, w *model.Write) {
			if j := s.About; w.From == model.Absent && j.Request == nil && ask.Request != nil && ask.Request(s.Node, j.ID) != nil {
				t.Violation(j, "the record that %s made at step %d keeps no request", s.Node, invariants.StepNo(s.Step))
			}
		},
		Requested: func(s *model.Step, j *model.Job, r *history.Request) {
			if r == nil || ask.Request == nil { // requests-can-be-read tells of what nobody can read
				return
			}
			should := ask.Request(s.Node, j.ID)
			if should == nil {
				return
			}
			t.Exercise()
			if field := should.Differs(r); field != "" {
				t.Violation(j, "the request of it that %s stored at step %d is not what was to be asked: its %s is another", s.Node, invariants.StepNo(s.Step), field)
			}
		},
		CancelRequested: func(s *model.Step, j *model.Job, reason string) {
			if ask.Reason == nil {
				return
			}
			should, cancelled := ask.Reason(j.ID)
			t.Exercise()
			if !cancelled {
				t.Violation(j, "%s cancelled it at step %d, which was not to be", s.Node, invariants.StepNo(s.Step))
			} else if reason != should {
				t.Violation(j, "%s cancelled it at step %d for the reason %q, which was to be %q", s.Node, invariants.StepNo(s.Step), reason, should)
			}
		},
		Ran: func(s *model.Step, r *model.WorkflowRun, _ *model.RunWrite) {
			if ask.Run == nil || !history.IsClient(s.Node) {
				return
			}
			t.Exercise()
			field := "id"
			if should := ask.Run(r.As.ID, f.Workflow.Began); should != nil {
				field = should.Differs(&r.Asked)
			}
			if field != "" {
				t.Violation(&r.As, "the run that %s stored at step %d is not what was to be asked: its %s is another", s.Node, invariants.StepNo(s.Step), field)
			}
		},
	}
})

var requestsCanBeRead = rule.New(invariants.Invariant{
	Name:   "requests-can-be-read",
	Says:   "Every request that a client or a scheduler publishes through the engine can be read. Only messages from elsewhere (workload.poison) cannot be read.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1: what cannot be decoded is terminated",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ended: func(*invariants.End) {
		for _, j := range f.Order {
			for i := range j.Messages {
				m := &j.Messages[i]
				if m.Consumer != history.ConsumerSubmit || m.From == history.StrangerNode {
					continue
				}
				t.Exercise()
				if m.Garbled {
					t.Violation(j, "%s published a request of it that nobody can read, %s seq %d", m.From, history.StreamSys, m.Seq)
				}
			}
		}
	}}
})
