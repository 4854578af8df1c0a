package judge

import (
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
)

var succeededImpliesFinishedExecution = checking(invariants.Invariant{
	Name:   "succeeded-implies-finished-execution",
	Says:   "A job is SUCCEEDED only after a worker has finished executing it.",
	Kind:   invariants.Always,
	Source: "Scheduler internals, section 1: RUNNING, succeeded",
}, func(f *model.Facts, t *tally) observe.Checker {
	audited := func(end *invariants.End) {
		withRecord(f, func(j *model.Job) {
			if j.State != model.Succeeded || end.Streams == nil {
				return
			}
			t.exercise()
			if !slices.ContainsFunc(j.Messages, func(m model.Message) bool { return m.Succeeded }) {
				t.violated(j, "is SUCCEEDED, but %s holds no result that says so", history.StreamSys)
			}
		})
	}
	return observe.Checker{Audited: audited, Wrote: func(s *model.Step, w *model.Write) {
		if s.About.State != model.Succeeded || w.From == model.Succeeded {
			return
		}
		t.exercise()
		if s.About.Finished == 0 {
			t.violated(s.About, "SUCCEEDED was written at step %d, but no worker has finished the job (%d began it)", stepNo(s.Step), s.About.Begun)
		}
	}}
})

var oneExecutionPerDispatch = checking(invariants.Invariant{
	Name:   "one-execution-per-dispatch",
	Says:   "A worker begins a job only for a dispatch that names it, and once for each.",
	Kind:   invariants.Always,
	Source: "Dispatch ordering, the production problem: a second dispatch is a second side effect",
}, func(_ *model.Facts, t *tally) observe.Checker {
	return observe.Checker{Effect: func(s *model.Step) {
		if s.Name != "begin" {
			return
		}
		t.exercise()
		j := s.About
		for i := range j.Dispatches {
			if d := &j.Dispatches[i]; !d.Begun && (d.Worker == "" || d.Worker == s.Node) {
				d.Begun = true
				return
			}
		}
		t.violated(j, "execution %d began at step %d on %s, but the stream has stored %s, and none that is for it and not begun",
			j.Begun, stepNo(s.Step), s.Node, invariants.CountOf(len(j.Dispatches), "dispatch", "dispatches"))
	}}
})
