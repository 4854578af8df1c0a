package judge

import (
	"slices"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"
)

var succeededImpliesFinishedExecution = checking(invariants.Invariant{
	Name:   "succeeded-implies-finished-execution",
	Says:   "A job is SUCCEEDED only after a worker has finished executing it.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1: RUNNING, succeeded",
}, func(f *facts, t *tally) checker {
	audited := func(end *invariants.End) {
		withRecord(f, func(j *job) {
			if j.state != succeeded || end.Streams == nil {
				return
			}
			t.exercise()
			if !slices.ContainsFunc(j.messages, func(m message) bool { return m.succeeded }) {
				t.violated(j, "is SUCCEEDED, but %s holds no result that says so", history.StreamSys)
			}
		})
	}
	return checker{audited: audited, wrote: func(s *step, w *write) {
		if s.about.state != succeeded || w.from == succeeded {
			return
		}
		t.exercise()
		if s.about.finished == 0 {
			t.violated(s.about, "SUCCEEDED was written at step %d, but no worker has finished the job (%d began it)", s.Step, s.about.begun)
		}
	}}
})

var oneExecutionPerDispatch = checking(invariants.Invariant{
	Name:   "one-execution-per-dispatch",
	Says:   "A worker begins a job only for a dispatch that names it, and once for each.",
	Kind:   invariants.Always,
	Source: "Dispatch ordering, the production problem: a second dispatch is a second side effect",
}, func(_ *facts, t *tally) checker {
	return checker{effect: func(s *step) {
		if s.Name != "begin" {
			return
		}
		t.exercise()
		j := s.about
		for i := range j.dispatches {
			if d := &j.dispatches[i]; !d.begun && (d.worker == "" || d.worker == s.Node) {
				d.begun = true
				return
			}
		}
		t.violated(j, "execution %d began at step %d on %s, but the stream has stored %s, and none that is for it and not begun",
			j.begun, s.Step, s.Node, invariants.CountOf(len(j.dispatches), "dispatch", "dispatches"))
	}}
})
