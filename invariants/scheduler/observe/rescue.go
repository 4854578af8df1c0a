package observe

import (
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
)

// Rescued returns the last one.
func (j *Observer) Rescued() model.Rescue { return j.Facts.Rescued }

// rescue notes one.
func (j *Observer) rescue(s *model.Step, of *model.Job, by string) {
	j.Facts.Reach(model.Rescued)
	j.Facts.Rescued = model.Rescue{Step: s.Step, Job: of.ID, By: by}
	for _, check := range j.saved {
		check(s, of)
	}
}

// brought takes in a job's write by a path of rescue: a handling without a request that brings the job on, or the end
// of a job that had no worker any more.
func (j *Observer) brought(s *model.Step, w *model.Write) {
	me := invariants.Process(s.Node, s.Incarnation)
	switch {
	case slices.Contains(s.About.InHand, me) || s.Handling.Scheduled || s.Handling.Intended:
	case s.Phase == "timeout_write":
		if w.Intent.Step != 0 && !w.Intent.Stored && s.At-w.Since > j.Facts.Config.PublishTimeout || s.About.Finished > 0 && len(s.About.Terminated) == 0 && !s.About.ResultDue() {
			j.rescue(s, s.About, "reconciler")
		}
	case s.About.State != model.Scheduled && (s.About.State != model.Running || s.Phase != "running_write"):
	case s.About.Replayer == me:
		j.rescue(s, s.About, "replayer")
	case s.Handling.OverdueRead:
		j.rescue(s, s.About, "reconciler")
	}
}

// tookIn takes in which ends of its jobs a run's write is about: who ends a job brings its run on, and what is left is
// found by the run reconciler at its next tick.
func (j *Observer) tookIn(s *model.Step, r *model.WorkflowRun, before *history.RunRecord) {
	for i := range before.Steps {
		was := &before.Steps[i]
		now, of := r.StepCalled(was.ID), j.Facts.Jobs[was.JobID]
		if was.State != "SUBMITTED" || now == nil || now.State == "SUBMITTED" || of == nil {
			continue
		}
		if late := j.Facts.Workflow.Unix(s.At) - of.Updated; late > model.Promptly.Milliseconds() {
			j.rescue(s, &r.As, "run reconciler")
			return
		}
	}
}
