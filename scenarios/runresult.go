package scenarios

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/engine/workflow"
	"github.com/wavetank-sim/wavetank/sim"
)

// RunResult is what became of one run of a workflow, from its record.
type RunResult struct {
	ID      string        `json:"id"`
	State   string        `json:"state"` // at the end
	Why     string        `json:"reason,omitempty"`
	Started time.Duration `json:"started_ns"`
	Ended   time.Duration `json:"ended_ns,omitempty"` // when it reached its terminal state; 0 if it did not
}

// ran takes in a change of a run's record.
func (r *record) ran(e *sim.Event, id string, c *sim.Change) {
	var stored workflow.Run
	if c.Gone || json.Unmarshal([]byte(c.Value), &stored) != nil {
		return
	}
	i := slices.IndexFunc(r.runs, func(o *RunResult) bool { return o.ID == id })
	if i < 0 {
		i = len(r.runs)
		r.runs = append(r.runs, &RunResult{ID: id, Started: e.At})
	}
	run := r.runs[i]
	if run.State, run.Why = string(stored.State), stored.Reason; !stored.Over() {
		run.Ended = 0
	} else if run.Ended == 0 {
		run.Ended = e.At
	}
}

// violated are the jobs and runs that violations name.
func (r *run) violated() map[string]bool {
	named := map[string]bool{}
	for _, o := range r.report.Invariants {
		for _, v := range o.Violations {
			named[v.Job] = true
		}
	}
	return named
}

// aboutRun is the run whose steps are told of where a plan names no job: one that a violation names, or
// that did not succeed, or else the first; nil if there is none.
func (r *run) aboutRun() *RunResult {
	named := r.violated()
	var about *RunResult
	for _, o := range r.record.runs {
		failed := o.State != string(workflow.Succeeded)
		switch {
		case named[o.ID]:
			return o
		case about == nil, failed && about.State == string(workflow.Succeeded):
			about = o
		}
	}
	return about
}

// tellRuns has a sentence for each run.
func (r *record) tellRuns() (told []string) {
	for _, run := range r.runs {
		s := fmt.Sprintf("%s was started at %s; ", run.ID, at(run.Started))
		if run.Ended > 0 {
			s += fmt.Sprintf("%s at %s", run.State, at(run.Ended))
		} else {
			s += "still " + run.State
		}
		if run.Why != "" {
			s += " (" + run.Why + ")"
		}
		told = append(told, s+".")
	}
	return shorten(told, "run")
}
