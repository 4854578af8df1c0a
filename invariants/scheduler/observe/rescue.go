package observe

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
)

// rescue notes a rescue.
func (o *Observer) rescue(s *model.Step, of *model.Job, by string) {
	o.Facts.Reach(model.Rescued)
	o.Facts.Rescued = model.Rescue{Step: s.Step, Job: of.ID, By: by}
	if h := s.Handling; h != nil && s.About == of {
		o.Facts.Rescued.Lock = h.Lock
	}
	for _, check := range o.hooks.Saved {
		check(s, of)
	}
}

// brought notes a rescue that writes a job: a handling without a request that resumes the job, or the end of
// a job that no longer had a worker.
func (o *Observer) brought(s *model.Step, w *model.Write) {
	me := invariants.Process(s.Node, s.Incarnation)
	switch {
	case s.About.InHandOf(me) || s.Handling.Scheduled || s.Handling.Intended:
	case s.Phase == "timeout_write":
		unpublished := w.Intent.Step != 0 && !w.Intent.Stored && o.Facts.Config.DispatchOrder != "publish-first" && s.At-w.Since > o.Facts.Config.PublishTimeout
		if unpublished || s.About.Finished > 0 && !s.About.AnsweredIllegally() && !s.About.ResultDue() {
			o.rescue(s, s.About, "reconciler")
		}
	case s.About.State != model.Scheduled && (s.About.State != model.Running || s.Phase != "running_write"):
	case s.Handling.OverdueRead: // the replayer may have read the job before
		o.rescue(s, s.About, "reconciler")
	case s.About.Replayer == me && s.About.Left:
		o.rescue(s, s.About, "replayer")
	}
}

// tookIn notes which ends of its jobs a run's write takes in. The process that ends a job also advances its
// run; the run reconciler finds what is left at its next tick.
func (o *Observer) tookIn(s *model.Step, r *model.WorkflowRun, before *history.RunRecord) {
	for i := range before.Steps {
		was := &before.Steps[i]
		now, of := r.StepCalled(was.ID), o.Facts.Jobs[was.JobID]
		if was.State != "SUBMITTED" || now == nil || now.State == "SUBMITTED" || of == nil {
			continue
		}
		if s.At-of.Touched > o.Facts.Promptly() {
			o.rescue(s, &r.As, "run reconciler")
			return
		}
	}
}
