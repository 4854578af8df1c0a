package judge

import (
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/observe"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

var derivedRequestMatchesItsSource = rule.New(invariants.Invariant{
	Name:   "derived-request-matches-its-source",
	Says:   "A replay has the request of its original, a compensation has the request that its job names to undo it, and a step's job has the request that its run names. The tenant is the same, and so is every field but the id, the labels and a mended payload. The idempotency key of a replay is not compared. A compensation that names no key has the hash of its workflow, job, topic, capability and step.",
	Kind:   invariants.Always,
	Source: "Dead letters, replay worker; Scheduler internals, section 4, recording compensation, and section 8, workflow steps",
}, func(f *model.Facts, t *rule.Tally) observe.Checker {
	return observe.Checker{Wrote: func(s *model.Step, w *model.Write) {
		j := s.About
		if w.From != model.Absent || j.State == model.Absent || j.Request == nil {
			return
		}
		should, from := derived(f, j)
		if from == "" {
			return
		}
		t.Exercise()
		wrong := "which asks for no such job"
		if should != nil {
			field := should.Differs(j.Request)
			if field == "" {
				return
			}
			wrong = "but its " + field + " is another"
		}
		recorded := invariants.Clause{}
		if c := f.Sagas.Recorded(from); c != nil {
			recorded = invariants.Say(", whose compensation was recorded at step %d", invariants.StepNo(c.Step))
		}
		t.Violation(j, "its record of step %d says that it is derived from %s%s, %s", invariants.StepNo(s.Step), from, recorded, wrong)
	}}
})

// derived returns what a job that a scheduler submits has to ask for, or nil, and the job or run that it
// comes from. For a client's job, from is "".
func derived(f *model.Facts, j *model.Job) (should *history.Request, from string) {
	r := j.Request
	if k := f.Workflow.Jobs[j.ID]; k != nil {
		asked := &k.Run.Asked
		for i := range asked.Steps {
			if asked.Steps[i].ID == k.Step.ID {
				return asked.Request(i, k.Attempt), asked.RunID
			}
		}
		return nil, asked.RunID
	}
	replayed := j.Replay.Of != ""
	if from = r.Labels["saga_job_id"]; replayed {
		from = f.ReplayedBy(j)
	}
	source, letter := f.Jobs[from], f.Replay.Letters[from]
	switch {
	case source == nil || source.Request == nil:
	case replayed && letter != nil:
		should = source.Request.Again(j.ID, r.IdempotencyKey, j.Replay.Of, j.Replay.Count, letter.Payload)
	case !replayed && source.Request.Undoable():
		should = source.Request.Undo(j.ID, f.FirstOf(source))
	}
	return should, from
}
