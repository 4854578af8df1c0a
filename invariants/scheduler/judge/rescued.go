package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var nobodyIsRescued = rule.New(invariants.Invariant{
	Name:   "nobody-is-rescued",
	Says:   "No replayer, reconciler or run reconciler does work that another path should have done before.",
	Kind:   invariants.Always,
	Quiet:  "job-rescued", // rescues are for what a strike has cut short: then one has done its work
	Source: "Scheduler internals, section 3: loops that end or take up what nobody is working on; a loop that does the work of a dead path hides it",
	Needs:  []string{"run-writes-not-lost"}, // a decision that was overwritten is made again by whoever finds it missing
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{
		Saved: func(s *model.Step, j *model.Job) {
			t.Violation(j, "the %s of %s did at step %d what another path should have done before", f.Rescued.By, invariants.Who(s.Event), invariants.StepNo(s.Step))
		},
		Wrote: func(s *model.Step, _ *model.Write) {
			if s.About.State.Terminal() {
				t.Exercise()
			}
		},
	}
})
