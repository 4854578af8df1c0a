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
	Says:   "Each job, each workflow run and each cancellation of the plan is stored: a client that tries until it succeeds is not refused for good. Jobs are not counted where clients give up (workload.tries).",
	Kind:   invariants.Eventually,
	Source: "Scheduler internals, sections 1 and 8: a request that is valid is PENDING, and a run RUNNING, from its submission on",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Ended: func(*invariants.End) {
		jobs, cancelled := 0, 0
		for _, j := range f.Order {
			if history.IsClient(j.MadeBy) && j.Replay.Of == "" {
				jobs++
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

var requestsCanBeRead = rule.New(invariants.Invariant{
	Name:   "requests-can-be-read",
	Says:   "Every request that is published through the engine, by a client or a scheduler, can be read. What nobody can read comes from elsewhere (workload.poison).",
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
