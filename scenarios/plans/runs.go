package plans

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/workflow"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// Run is the workload's n-th run. It has a first step, a last one, and parallel ones in between. The k-th
// step in between starts k times step_delay after the first step, and not before step_until after began, the
// beginning of the world. If there are two steps, the second is the one with the delay. The last step starts
// last_step_delay after all others.
func (w *Workload) Run(n int, began time.Time) workflow.Run {
	r := workflow.Run{RunID: RunID(n), WorkflowID: "workflow", Tenant: "tenant-1"}
	var between []string
	for k := 1; k <= w.Steps; k++ {
		s := workflow.Step{ID: stepID(k), Topic: Topic, Retry: workflow.Retry{Max: w.StepRetries, BackoffMS: w.StepBackoff.Milliseconds()}}
		if w.StepUndo {
			s.Compensation = Undo(r.RunID + " " + s.ID)
		}
		switch {
		case k == 1:
		case k < w.Steps || k == 2:
			s.DependsOn, s.DelaySec = []string{stepID(1)}, int64(k-1)*int64(w.StepDelay/time.Second)
			if w.StepUntil > 0 {
				s.DelayUntil = began.Add(w.StepUntil).UnixMilli()
			}
			between = append(between, s.ID)
		default:
			s.DependsOn, s.DelaySec = between, int64(w.LastStepDelay/time.Second)
		}
		r.Steps = append(r.Steps, s)
	}
	return r
}

// Failing says whether a job is an attempt that fails: one of the first step_failures attempts of a run's
// second step, or of its only one.
func (w *Workload) Failing(jobID string) bool {
	rest, isRun := strings.CutPrefix(jobID, "run-")
	_, rest, isStep := strings.Cut(rest, "-"+stepID(min(2, w.Steps))+"-")
	attempt, err := strconv.Atoi(rest)
	return isRun && isStep && err == nil && attempt <= w.StepFailures
}

// FailingSteps lists the attempts that fail.
func (w *Workload) FailingSteps() (list []string) {
	for n := range w.Runs {
		for attempt := range w.StepFailures {
			list = append(list, workflow.JobID(RunID(n+1), stepID(min(2, w.Steps)), attempt+1))
		}
	}
	return list
}

// checkRuns returns an error for what [workflow.Run] cannot represent.
func checkRuns(p *Plan) *strictyaml.Error {
	w := &p.Workload
	for _, f := range []struct {
		path    string
		d, unit time.Duration
		remedy  string
	}{
		{"workload.step_delay", w.StepDelay, time.Second, "give whole seconds, as in 30s"},
		{"workload.last_step_delay", w.LastStepDelay, time.Second, "give whole seconds, as in 30s"},
		{"workload.step_backoff", w.StepBackoff, time.Millisecond, "give whole milliseconds, as in 5s"},
		{"workload.step_until", w.StepUntil, time.Millisecond, "give whole milliseconds, as in 5s"},
	} {
		if f.d%f.unit != 0 {
			return &strictyaml.Error{Path: f.path, Message: fmt.Sprintf("%s is %s", f.path, strictyaml.DurationText(f.d)), Remedy: f.remedy}
		}
	}
	return nil
}

// metByRuns notes which workflow phases the plan's runs can have.
func (p *Plan) metByRuns(met map[phase.Phase]bool) {
	e, w := &p.Engine, &p.Engine.Workflow
	polls := w.DurableTimers && w.DelayPoller
	for ph, can := range map[phase.Phase]bool{
		phase.RunCreate: true, phase.RunLock: true, phase.RunRenew: e.LockRenewal, phase.RunRead: true, phase.StepRead: true, phase.RunWrite: true, phase.RunUnlock: true,
		phase.TimerWrite: w.DurableTimers, phase.TimerRemove: w.DurableTimers, phase.TimerPop: w.DurableTimers, phase.TimerRead: w.DurableTimers,
		phase.TimerClean: polls, phase.PollLock: polls,
		phase.RunsLock: w.RunReconciler, phase.RunsRead: w.RunReconciler, phase.RunsDrop: w.RunReconciler,
	} {
		met[ph] = p.Workload.Runs > 0 && can
	}
}

// Undo is the compensation of what.
func Undo(what string) *job.Compensation {
	return &job.Compensation{Capability: "cancel", Payload: json.RawMessage(`{"undo":"` + what + `"}`)}
}
