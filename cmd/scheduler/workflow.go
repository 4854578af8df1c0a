package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/workflow"
)

// workflowVersion is the format of what --json prints.
const workflowVersion = 1

func newWorkflow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workflow",
		Short: "Start runs of several steps, and show their progress",
		Long: `Workflow gives runs to ` + "`scheduler serve`" + ` and shows their progress. A run
is a file of steps. Each step is a job, which is submitted once the steps that it
depends on have succeeded, and after its delay, if it has one. A step that fails is
tried again as often as it says. ` + "`scheduler workflow start --help`" + ` shows such a file.`,
		Example: `  scheduler workflow start nightly.yaml --wait
  scheduler workflow list
  scheduler workflow show nightly-17`,
	}
	cli.Group(cmd)
	cmd.AddCommand(newWorkflowStart(), newWorkflowShow(), newWorkflowList())
	return cmd
}

type workflowListFlags struct {
	workflowFlags
	state string
}

// runStates are those of --state.
var runStates = []string{string(workflow.Running), string(workflow.Succeeded), string(workflow.Failed)}

func newWorkflowList() *cobra.Command {
	var f workflowListFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List runs, the oldest first",
		Long: `List prints the runs that Redis holds, their state, and how many of their steps are
done. A run that is over is kept for 30 days.

Exit codes: 0 listed, 2 usage, or a Redis that does not answer, 3 a Redis lost
midway.`,
		Example: `  scheduler workflow list
  scheduler workflow list --state RUNNING
  scheduler workflow list --json | jq -r '.runs[].run_id'`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	f.AddReader(cmd)
	cli.JSONFlag(cmd, &f.json)
	cmd.Flags().StringVar(&f.state, "state", "", "only those in a `STATE`: "+strings.Join(runStates, ", "))
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(runStates, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// runSummary is a run as list --json has it.
type runSummary struct {
	RunID      string         `json:"run_id"`
	WorkflowID string         `json:"workflow_id"`
	Tenant     string         `json:"tenant,omitempty"`
	State      workflow.State `json:"state"`
	Reason     string         `json:"reason,omitempty"`
	Steps      int            `json:"steps"`
	StepsDone  int            `json:"steps_done"`
	CreatedAt  int64          `json:"created_at"` // unix milliseconds, as the next
	UpdatedAt  int64          `json:"updated_at"`
}

func (f *workflowListFlags) run(ctx context.Context, stdout io.Writer) error {
	if f.state != "" && !slices.Contains(runStates, f.state) {
		return cli.Fail(cli.ExitUsage, "--state is %q; one of %s", f.state, strings.Join(runStates, ", "))
	}
	return f.look(ctx, func(ctx context.Context, store *workflow.Store) error {
		runs, err := store.List(ctx)
		if err != nil {
			return err
		}
		list := []runSummary{}
		for _, r := range runs {
			if f.state == "" || f.state == string(r.State) {
				list = append(list, runSummary{r.RunID, r.WorkflowID, r.Tenant, r.State, r.Reason, len(r.Steps), stepsDone(&r), r.CreatedAt, r.UpdatedAt})
			}
		}
		if f.json {
			return cli.PrintJSON(stdout, struct {
				Version int          `json:"version"`
				Runs    []runSummary `json:"runs"`
			}{workflowVersion, list})
		}
		return printRuns(cli.NewPrinter(stdout), list)
	})
}

func newWorkflowShow() *cobra.Command {
	var f workflowFlags
	cmd := &cobra.Command{
		Use:   "show RUN_ID",
		Short: "Show a run and its steps",
		Long: `Show prints the progress of a run: for each step its state, the number of its try, the job of
that try, and when it ended or is due. Times are UTC.

Exit codes: 0 shown, 2 usage, no such run, or a Redis that does not answer, 3 a Redis
lost midway.`,
		Example: `  scheduler workflow show nightly-17
  scheduler workflow show nightly-17 --json | jq -r '.run.steps[].job_id'`,
		Args: cli.OneArg("the run's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.show(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	f.AddReader(cmd)
	cli.JSONFlag(cmd, &f.json)
	return cmd
}

func (f *workflowFlags) show(ctx context.Context, id string, stdout io.Writer) error {
	if err := workflow.CheckRunID(id); err != nil {
		return cli.Fail(cli.ExitUsage, "show: %v", err)
	}
	return f.look(ctx, func(ctx context.Context, store *workflow.Store) error {
		r, err := store.Read(ctx, id)
		switch {
		case errors.Is(err, workflow.ErrNotFound):
			return cli.Fail(cli.ExitUsage, "Redis at %s holds no run %q; `scheduler workflow list` names those that it holds", servers.Public(f.RedisURL), id)
		case err != nil:
			return err
		case f.json:
			return cli.PrintJSON(stdout, struct {
				Version int          `json:"version"`
				Run     workflow.Run `json:"run"`
			}{workflowVersion, r})
		}
		return printSteps(cli.NewPrinter(stdout), &r)
	})
}
