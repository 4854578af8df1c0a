package judge

import "github.com/wavetank-sim/wavetank/invariants"

var nobodyIsRescued = checking(invariants.Invariant{
	Name:   "nobody-is-rescued",
	Says:   "Before anything has struck, no replayer, reconciler or run reconciler does what another path should have done.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 3: loops that end or take up what nobody is working on; a loop that does the work of a dead path hides it",
}, func(f *facts, t *tally) checker {
	return checker{
		saved: func(s *step, j *job) {
			if f.strikes.seen == 0 {
				t.violated(j, "the %s of %s did at step %d what another path should have done before, though nothing had struck", f.rescued.By, invariants.Who(s.Event), s.Step)
			}
		},
		wrote: func(s *step, _ *write) {
			if f.strikes.seen == 0 && s.about.state.terminal() {
				t.exercise()
			}
		},
	}
})
