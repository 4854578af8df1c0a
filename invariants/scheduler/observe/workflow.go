package observe

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

// Began sets when the world began, by the clock that its processes write times by. It is called before any
// event.
func (o *Observer) Began(at time.Time) { o.Facts.Workflow.Began = at }

// runWritten notes a write of a run's record.
func (o *Observer) runWritten(s *model.Step, c *sim.Change, id string) {
	k := &o.Facts.Workflow
	r := k.Runs[id]
	if r == nil {
		if k.Runs == nil {
			k.Runs, k.Jobs = map[string]*model.WorkflowRun{}, map[string]*model.StepJob{}
		}
		r = &model.WorkflowRun{As: model.Job{ID: id}, Made: s.At, Hands: map[string]bool{}, Knowing: map[string]bool{}}
		k.Runs[id] = r
		o.Facts.RunAppears(r)
		k.Order = append(k.Order, r)
	}
	before := r.RunRecord
	now, err := history.Read[history.RunRecord](c.Value)
	if c.Gone && before.Over() {
		return // the record of a run that is over has expired
	}
	if c.Gone || err != nil {
		now = &history.RunRecord{RunID: id}
	}
	if r.Asked.Steps == nil || history.IsClient(s.Node) {
		r.Asked = *now
		r.Asked.Steps = slices.Clone(now.Steps)
	}
	for i := range min(len(now.Steps), len(r.Asked.Steps)) {
		now.Steps[i].StepTerms = r.Asked.Steps[i].StepTerms
	}
	w := model.RunWrite{Was: before, By: r.By, Step: r.Step, Expires: c.Expires, Place: r.Place, Delayed: r.Setting != "", Known: before.Over() && r.Knowing[invariants.Who(s.Event)]}
	placed(s, r, &w)
	answered := !s.Failed && s.Outcome != sim.OutcomePending && s.Kind != sim.KindLate
	r.RunRecord, r.By, r.Step = *now, invariants.Who(s.Event), s.Step
	for i := range now.Steps {
		step := &now.Steps[i]
		if j := k.StepJob(step.JobID); j != nil {
			j.Decided = true
		}
		if step.State != "WAITING" {
			continue
		}
		j := k.StepJob(history.StepJobID(r.RunID, step.ID, step.Attempt))
		if j.Waits.Due = k.Due(j, true); j.Waits.Since == 0 {
			j.Waits.Since = s.At
			if step.Attempt > 1 {
				o.Facts.Reach(model.StepRetried)
			}
		}
		if answered { // otherwise its writer goes no further
			j.Waits.Armed = s.At
		}
	}
	r.Advanced()
	switch {
	case !now.Over():
		clear(r.Knowing)
	case answered:
		r.Knowing[r.By] = true
	}
	if now.Over() { // a process that waits for its lock will find nothing to do
		maps.DeleteFunc(r.Hands, func(by string, _ bool) bool { return by != r.By })
	}
	if now.State == "FAILED" && o.Facts.Config.Saga.DurableRollback && o.Facts.Config.Reconciler {
		if g := o.Facts.Sagas.Of(history.SagaOf(r.Asked.Tenant, id)); g.Due == 0 { // whatever a worker reported of its steps
			g.Call(s, nil)
		}
	}
	for _, check := range o.hooks.Ran {
		check(s, r, &w)
	}
	o.tookIn(s, r, &before) // a rescue counts only if no decision was overwritten before
}

// placed says which sorted sets have the run after the step that writes its record.
func placed(s *model.Step, r *model.WorkflowRun, w *model.RunWrite) {
	for i := range s.Changes {
		c := &s.Changes[i]
		switch _, id, _ := strings.Cut(c.Field, ":"); {
		case c.Key == history.LiveRunsKey && (c.Field == r.As.ID || c.Field == "" && c.Gone):
			w.Place = c.Value
		case c.Key == history.TimersKey && (id == r.As.ID || c.Field == "" && c.Gone):
			w.Delayed = !c.Gone
		}
	}
}

// liveRunChanged notes a change of the runs that are not over.
func (o *Observer) liveRunChanged(c *sim.Change) {
	for _, r := range o.Facts.Workflow.Order {
		if c.Field == r.RunID || c.Field == "" && c.Gone {
			r.Place = c.Value
		}
	}
}

// runLockChanged notes a change of the key of a run's lock.
func (o *Observer) runLockChanged(s *model.Step, c *sim.Change, r *model.WorkflowRun) {
	if r == nil {
		return
	}
	me := invariants.Who(s.Event)
	switch {
	case c.Gone:
		r.Lock, r.Freed = model.Lock{}, s.At
		delete(r.Hands, me)
		return
	case r.Lock.Node == "" || r.Lock.Token != c.Value:
		r.Lock = model.Lock{Node: s.Node, Incarnation: s.Incarnation, Token: c.Value, Expires: c.Expires, Step: s.Step}
		r.Hands[me] = true
	default:
		r.Lock.Expires = c.Expires
	}
	for _, check := range o.hooks.RunLocked {
		check(s, r)
	}
}

// timerChanged notes a change of the delays that are kept in Redis. When a script takes out the last of them,
// the key itself is gone.
func (o *Observer) timerChanged(s *model.Step, c *sim.Change) {
	k, me := &o.Facts.Workflow, invariants.Who(s.Event)
	_, id, _ := strings.Cut(c.Field, ":")
	for _, r := range k.Order {
		switch {
		case r.RunID != id && (c.Field != "" || !c.Gone):
		case !c.Gone:
			r.Setting = me
		case r.Setting == "":
		default:
			if s.Phase == "timer_pop" && r.Setting != me {
				o.Facts.Reach(model.DelayPolled)
			}
			if !r.Over() {
				r.Hands[me] = true
			}
			r.Setting = ""
		}
	}
}

// stepWritten notes a write of the record of a step's job.
func (o *Observer) stepWritten(s *model.Step) {
	k := o.Facts.Workflow.StepJob(s.About.ID)
	if k == nil {
		return
	}
	if k.Made == 0 {
		k.Made = s.At
		for _, check := range o.hooks.Fired {
			check(s, k)
		}
	}
	if is := (model.End{State: s.About.State, Code: s.About.ReasonCode}); is.State.Terminal() && !slices.Contains(k.Ends, is) {
		k.Ends = append(k.Ends, is)
		if !k.Run.Over() && s.Kind != sim.KindLate {
			k.Run.Hands[invariants.Who(s.Event)] = true // it advances the run
		}
	}
	end := model.When{Told: s.About.Updated, At: s.At}
	switch state := s.About.State; { // another invariant judges whether an end is final
	case state == model.Succeeded:
		k.Succeeded, k.Ended = cmp.Or(k.Succeeded, end), k.Ended.Later(end)
	case state == model.Failed && !s.About.Saga.Fatal || state == model.TimedOut:
		k.Failed, k.Ended = cmp.Or(k.Failed, end), k.Ended.Later(end)
	}
}

// stepStored notes that the stream stores the request of a step's job.
func (o *Observer) stepStored(s *model.Step, id string, seq uint64) {
	k := o.Facts.Workflow.StepJob(id)
	if k == nil {
		return
	}
	again := model.StepAgain{Seq: k.Stored, Told: k.Told}
	k.Stored, k.Told = seq, !s.Failed && s.Outcome != sim.OutcomePending && s.Kind != sim.KindLate
	for _, check := range o.hooks.Submitted {
		check(s, k, again)
	}
}
