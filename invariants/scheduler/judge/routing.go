package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

// What holds for the placement of jobs (Scheduler internals, section 5).
var routingInvariants = []rule.Rule{dispatchRespectsPlacement}

var dispatchRespectsPlacement = rule.New(invariants.Invariant{
	Name:   "dispatch-respects-placement",
	Says:   "A scheduler publishes a dispatch only to a worker that satisfies every hint of the job's labels and constraints, by the worker's heartbeats. The worker's pool serves the job's topic and offers what the job requires. If the preferred worker is such a worker, alive and not overloaded, the job goes to it.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 5, label hints and eligible pools",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, _ *model.Write) {
		if h := s.Handling; picked(s) && h.Preferred != "" {
			t.Exercise()
			if s.About.Intent.Worker != h.Preferred {
				t.Violation(s.About, "%s dispatched it to %s at step %d; it prefers %s, which was alive and free", invariants.Who(s.Event), s.About.Intent.Worker, invariants.StepNo(s.Step), h.Preferred)
			}
		}
	}, Sent: func(s *model.Step) {
		at, _, ok := picker(f, s)
		w := &s.About.Wish
		if at.Worker == "" || !ok || !w.Particular() {
			return
		}
		known := f.Ear(at)
		if known == nil || !known.Load.Known {
			return // picking an unknown worker is another invariant's subject
		}
		t.Exercise()
		if unmet := w.Unmet(&known.Load, &f.Config.Routing); unmet != "" {
			t.Violation(s.About, "%s published to %s at step %d, although the job asks for %s; %s says that it is of the pool %s, with the labels %v and the capabilities %v",
				invariants.Who(s.Event), s.Target, invariants.StepNo(s.Step), unmet, at.Worker, known.Load.Pool, known.Load.Labels, known.Load.Capabilities)
		}
	}}
})
