package judge

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"
)

// Rescue is that a path which is there for what goes wrong did what another path should have done.
type Rescue struct {
	Step int
	Job  string // or the run
	By   string // replayer, reconciler or run reconciler
}

// Rescued returns the last one.
func (j *observer) Rescued() Rescue { return j.facts.rescued }

// rescue notes one.
func (j *observer) rescue(s *step, of *job, by string) {
	j.facts.reach(rescued)
	j.facts.rescued = Rescue{s.Step, of.id, by}
	for _, check := range j.saved {
		check(s, of)
	}
}

// brought takes in a job's write by a path of rescue: a handling without a request that brings the job on, or the end
// of a job that had no worker any more.
func (j *observer) brought(s *step, w *write) {
	me := invariants.Process(s.Node, s.Incarnation)
	switch {
	case slices.Contains(s.about.inHand, me) || s.handling.scheduled || s.handling.intended:
	case s.Phase == "timeout_write":
		if w.intent.step != 0 && !w.intent.stored && s.At-w.since > j.facts.config.PublishTimeout || s.about.finished > 0 && len(s.about.terminated) == 0 && !s.about.resultDue() {
			j.rescue(s, s.about, "reconciler")
		}
	case s.about.state != scheduled && (s.about.state != running || s.Phase != "running_write"):
	case s.about.replayer == me:
		j.rescue(s, s.about, "replayer")
	case s.handling.overdueRead:
		j.rescue(s, s.about, "reconciler")
	}
}

// resultDue says whether a result of the job is left to be handled.
func (j *job) resultDue() bool {
	return slices.ContainsFunc(j.messages, func(m message) bool { return m.consumer == history.ConsumerResult && !m.done && !m.lost })
}

// promptly is how soon whoever ends the job of a step brings its run on, another holder of the run's lock included.
const promptly = 5 * time.Second

// tookIn takes in which ends of its jobs a run's write is about: who ends a job brings its run on, and what is left is
// found by the run reconciler at its next tick.
func (j *observer) tookIn(s *step, r *workflowRun, before *history.RunRecord) {
	for i := range before.Steps {
		was := &before.Steps[i]
		now, of := r.StepCalled(was.ID), j.facts.jobs[was.JobID]
		if was.State != "SUBMITTED" || now == nil || now.State == "SUBMITTED" || of == nil {
			continue
		}
		if late := j.facts.workflow.unix(s.At) - of.updated; late > promptly.Milliseconds() {
			j.rescue(s, &r.as, "run reconciler")
			return
		}
	}
}
