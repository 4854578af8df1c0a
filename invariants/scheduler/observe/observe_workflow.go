package observe

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// Began says when the world began, by the clock that its processes write times by. It comes before any event.
func (j *Observer) Began(at time.Time) { j.Facts.Workflow.Began = at }

// runWritten takes in a write of a run's record.
func (j *Observer) runWritten(s *Step, c *sim.Change) {
	k := &j.Facts.Workflow
	id := c.Key[len(history.RunPrefix):]
	r := k.runs[id]
	if r == nil {
		if k.runs == nil {
			k.runs, k.Jobs = map[string]*WorkflowRun{}, map[string]*StepJob{}
		}
		r = &WorkflowRun{As: Job{ID: id}, Waits: map[string]WfWait{}, hands: map[string]bool{}}
		k.runs[id] = r
		j.Facts.appears(&r.As, j.Facts.At)
		k.Order = append(k.Order, r)
	}
	before := r.RunRecord
	var now history.RunRecord
	if c.Gone && before.State != "RUNNING" {
		return // the record of a run that is over has expired
	}
	if c.Gone || json.Unmarshal([]byte(c.Value), &now) != nil {
		now = history.RunRecord{RunID: id}
	}
	w := RunWrite{Was: before, By: r.by, Step: r.step}
	r.RunRecord, r.by, r.step = now, invariants.Who(s.Event), s.Step
	for i := range now.Steps {
		step := &now.Steps[i]
		if step.State != "WAITING" {
			continue
		}
		id := history.StepJobID(r.RunID, step.ID, step.Attempt)
		if _, known := r.Waits[id]; !known {
			r.Waits[id] = WfWait{s.At, step.NextAttemptAt}
			if step.Attempt > 1 {
				j.Facts.Reach(StepRetried)
			}
		}
	}
	if now.State == "FAILED" && j.Facts.Config.Saga.DurableRollback && j.Facts.Config.Reconciler {
		if g := j.Facts.Sagas.of(id); g.Due == 0 { // whatever a worker said of its steps
			g.Due = s.Step
		}
	}
	j.tookIn(s, r, &before)
	for _, check := range j.ran {
		check(s, r, &w)
	}
}

// runLockChanged takes in a change of the key of a run's lock.
func (j *Observer) runLockChanged(s *Step, c *sim.Change) {
	r := j.Facts.Workflow.runs[c.Key[len(history.RunLockPrefix):]]
	if r == nil {
		return
	}
	me := invariants.Who(s.Event)
	switch {
	case c.Gone:
		r.Lock = Lock{}
		delete(r.hands, me)
	case r.Lock.Node == "" || r.Lock.token != c.Value:
		r.Lock = Lock{Node: s.Node, Incarnation: s.Incarnation, token: c.Value, Expires: c.Expires, Step: s.Step}
		r.hands[me] = true
	default:
		r.Lock.Expires = c.Expires
	}
}

// timerChanged takes in a change of the delays that are kept in Redis. Of a script that takes out the last of
// them it is the key that is gone.
func (j *Observer) timerChanged(s *Step, c *sim.Change) {
	k, me := &j.Facts.Workflow, invariants.Who(s.Event)
	_, id, _ := strings.Cut(c.Field, ":")
	for _, r := range k.Order {
		switch {
		case r.RunID != id && (c.Field != "" || !c.Gone):
		case !c.Gone:
			r.setting = me
		case r.setting == "":
		default:
			if s.Phase == "timer_pop" && r.setting != me {
				j.Facts.Reach(DelayPolled)
			}
			if r.State == "RUNNING" {
				r.hands[me] = true
			}
			r.setting = ""
		}
	}
}

// stepWritten takes in a write of the record of a step's job.
func (j *Observer) stepWritten(s *Step) {
	k := j.Facts.Workflow.stepJob(s.About.ID)
	if k == nil {
		return
	}
	if k.Made == 0 {
		k.Made = s.At
		for _, check := range j.fired {
			check(s, k)
		}
	}
	switch state := s.About.State; { // whether an end is final another invariant judges
	case state == Succeeded && k.succeeded == 0:
		k.succeeded = s.About.Updated
	case (state == Failed && !s.About.Saga.fatal || state == TimedOut) && k.Failed == 0:
		k.Failed = s.About.Updated
	}
}

// stepStored takes in that the stream stores the request of a step's job.
func (j *Observer) stepStored(s *Step, id string, seq uint64) {
	k := j.Facts.Workflow.stepJob(id)
	if k == nil {
		return
	}
	again := StepAgain{Seq: k.Stored, Told: k.told}
	k.Stored, k.told = seq, !s.Failed && s.Outcome != sim.OutcomePending && s.Kind != sim.KindLate
	for _, check := range j.submitted {
		check(s, k, again)
	}
}
