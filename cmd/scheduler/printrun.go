package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/workflow"
)

func printRuns(p *cli.Printer, list []runSummary) error {
	if len(list) == 0 {
		p.Line("No runs.")
		return nil
	}
	table := &cli.Table{Heads: []string{"STARTED", "RUN", "WORKFLOW", "STATE", "STEPS DONE"}}
	for _, r := range list {
		table.Rows = append(table.Rows, []string{time.UnixMilli(r.CreatedAt).UTC().Format("01-02 15:04"), r.RunID, r.WorkflowID, string(r.State), fmt.Sprintf("%d of %d", r.StepsDone, r.Steps)})
	}
	if err := table.Write(p.W); err != nil {
		return err
	}
	p.Line("%s; `%s` shows one.", cli.Plural(len(list), "run"), cli.Pasteable("scheduler workflow show RUN_ID"))
	return nil
}

// printSteps prints a run, and a table of its steps.
func printSteps(p *cli.Printer, r *workflow.Run) error {
	p.Line("%s  %s, %s", p.Paint(cli.Bold, r.RunID), p.Paint(runColor(r.State), string(r.State)), howFar(r))
	p.Line("  a run of %s%s", r.WorkflowID, of(", tenant ", r.Tenant))
	p.Line("  started %s, changed %s", utc(r.CreatedAt), utc(r.UpdatedAt))
	if r.Reason != "" {
		p.Line("  %s", r.Reason)
	}
	p.Line("")
	table := &cli.Table{Heads: []string{"STEP", "STATE", "TRY", "JOB", "WHEN"}}
	var failed []string
	for i := range r.Steps {
		s := &r.Steps[i]
		try, id := "-", "-"
		if s.Attempt > 0 {
			try = fmt.Sprintf("%d of %d", s.Attempt, s.Retry.Max+1)
		}
		if s.JobID != "" {
			id = s.JobID
		}
		table.Rows = append(table.Rows, []string{s.ID, string(s.State), try, id, when(r, s)})
		if s.Reason != "" && s.State != workflow.StepFailed { // that one's is the run's
			failed = append(failed, s.ID+": "+s.Reason)
		}
	}
	if err := table.Write(p.W); err != nil {
		return err
	}
	cli.Section(p, "Tried before", failed, func(text string) string { return text })
	return nil
}

func runColor(s workflow.State) int {
	switch s {
	case workflow.Succeeded:
		return cli.Green
	case workflow.Failed:
		return cli.Red
	}
	return cli.Yellow
}

// howFar says how many steps are done.
func howFar(r *workflow.Run) string {
	far := fmt.Sprintf("%d of %s done", stepsDone(r), cli.Plural(len(r.Steps), "step"))
	if r.Version == 1 {
		far += "; no scheduler has taken it up yet"
	}
	return far
}

// when is what there is to say of the time of a step.
func when(r *workflow.Run, s *workflow.Step) string {
	switch s.State {
	case workflow.StepSucceeded, workflow.StepFailed:
		return "ended " + utc(s.EndedAt)
	case workflow.StepSubmitted:
		return "under way"
	}
	if r.Over() {
		return "never: the run is over"
	}
	if s.State == workflow.StepWaiting {
		return "due " + utc(s.NextAttemptAt)
	}
	var open []string
	for _, other := range r.Steps {
		if slices.Contains(s.DependsOn, other.ID) && other.State != workflow.StepSucceeded {
			open = append(open, other.ID)
		}
	}
	if len(open) == 0 {
		return "once it is taken up"
	}
	return "after " + strings.Join(open, ", ")
}

func utc(unixMS int64) string { return time.UnixMilli(unixMS).UTC().Format(time.RFC3339) }

func stepsDone(r *workflow.Run) (n int) {
	for _, s := range r.Steps {
		if s.State == workflow.StepSucceeded {
			n++
		}
	}
	return n
}
