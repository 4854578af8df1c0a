package scenarios

import (
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler"
	"github.com/wavetank-sim/wavetank/sim"
)

// RunResult is the outcome of one run of a workflow, from its record.
type RunResult struct {
	ID      string        `json:"id"`
	State   string        `json:"state"` // at the end
	Why     string        `json:"reason,omitempty"`
	Started time.Duration `json:"started_ns"`
	Ended   time.Duration `json:"ended_ns,omitempty"` // when it reached its terminal state; 0 if it did not

	moments []moment
	states  []string          // the states of its steps in its record
	looked  map[string]string // nodes that have read it in order to write it, and what they read last
}

// ran notes a change of a run's record.
func (r *record) ran(f *history.Fact) {
	now, err := history.Read[history.RunRecord](f.Change.Value)
	if f.Change.Gone || err != nil {
		return
	}
	i := slices.IndexFunc(r.runs, func(o *RunResult) bool { return o.ID == f.Job })
	if i < 0 {
		i = len(r.runs)
		r.runs = append(r.runs, &RunResult{ID: f.Job, Started: f.At, moments: []moment{{at: f.At, step: f.Step, node: f.Node, says: runStarted}}})
	}
	run := r.runs[i]
	run.wrote(f, now)
	if run.State, run.Why = now.State, now.Reason; !now.Over() {
		run.Ended = 0
	} else if run.Ended == 0 {
		run.Ended = f.At
		why := ""
		if run.Why != "" {
			why = " (" + run.Why + ")"
		}
		tell(&run.moments, f.Event, runEnded, run.State, why, 0)
	}
}

// wrote notes which steps a write of the run's record has changed.
func (run *RunResult) wrote(f *history.Fact, now *history.RunRecord) {
	var changed []string
	begins := len(run.states) != len(now.Steps)
	if begins {
		run.states = make([]string, len(now.Steps))
	}
	for i := range now.Steps {
		if s := &now.Steps[i]; run.states[i] != s.State {
			run.states[i] = s.State
			changed = append(changed, s.ID+" "+s.State)
		}
	}
	if len(changed) > 0 && !begins && f.Node != "" { // when Redis goes back, nobody writes
		run.moments = add(run.moments, moment{at: f.At, step: f.Step, node: f.Node, says: runWrote, a: strings.Join(changed, ", "), quiet: true})
	}
}

// runFenced follows a fenced write of a run, which is several operations: reads of the record and of the
// lock, and the MULTI. A node that releases the lock after such a read was stopped by what it read.
func (r *record) runFenced(e *sim.Event) {
	what, id := history.KeyOf(e.Target)
	i := slices.IndexFunc(r.runs, func(o *RunResult) bool { return o.ID == id })
	if i < 0 || what != history.Run && what != history.RunLock {
		return
	}
	run, answer := r.runs[i], history.AnswerOf(e)
	saw, looked := run.looked[e.Node]
	switch {
	case e.Phase == "run_write" && e.Name == "multi" && e.Outcome == history.TransactionFailed:
		saw, looked = "the record or the lock changed meanwhile", true
	case e.Phase == "run_write" && e.Name != "multi" && answer == history.Done:
		if run.looked == nil {
			run.looked = map[string]string{}
		}
		run.looked[e.Node] = either(what == history.Run, "the record had moved on", "the lock was no longer its own")
		return
	case e.Phase != "run_unlock" && e.Phase != "run_write" && e.Phase != "run_lock":
		return
	case e.Phase != "run_unlock":
		looked = false
	}
	if looked {
		tell(&run.moments, e, fenced, "run_write", saw, 0)
	}
	delete(run.looked, e.Node)
}

// violated lists the jobs and runs that violations name, and those for which a named job was submitted.
func (r *run) violated(res *Result) map[string]bool {
	named := map[string]bool{}
	for _, v := range res.Violations {
		named[v.Job] = true
	}
	for _, j := range slices.Backward(r.record.derived.jobs) { // a replay's replay comes first
		if named[j.ID] {
			named[j.Of] = true
		}
	}
	return named
}

// aboutRun is the run whose steps are told if a plan names no job: one that a violation names, or else one
// that did not succeed, or else the first. It is nil if there is none.
func (r *run) aboutRun(res *Result) *RunResult {
	named := r.violated(res)
	var about *RunResult
	for _, o := range r.record.runs {
		failed := o.State != scheduler.RunSucceeded
		switch {
		case named[o.ID]:
			return o
		case about == nil, failed && about.State == scheduler.RunSucceeded:
			about = o
		}
	}
	return about
}
