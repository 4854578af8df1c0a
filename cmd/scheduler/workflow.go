package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/workflow"
)

// workflowVersion is the format of what --json prints.
const workflowVersion = 1

func newWorkflow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workflow",
		Short: "Start runs of several steps, and see how far they are",
		Long: `Workflow gives runs to ` + "`scheduler serve`" + ` and shows what becomes of them. A run
is a file of steps, each of which is a job that is submitted once the steps that it
depends on have succeeded, and after a delay if it has one; a step that fails is
tried again as often as it says. ` + "`scheduler workflow start --help`" + ` shows such a file.`,
		Example: `  scheduler workflow start nightly.yaml --wait
  scheduler workflow list
  scheduler workflow show nightly-17`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return cli.Usage(cmd, "unknown command %q", "workflow "+args[0])
		},
	}
	cmd.AddCommand(newWorkflowStart(), newWorkflowShow(), newWorkflowList())
	return cmd
}

// workflowFlags are those of all of them.
type workflowFlags struct {
	servers.Flags
	json bool
}

func (f *workflowFlags) addJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON, and nothing else, on standard output")
}

// runsIn are the runs that a Redis holds.
func runsIn(client *redis.Client) *workflow.Store {
	return &workflow.Store{Redis: client, Clock: clockwork.NewRealClock(), Timeout: settings.Hardened().StoreOpTimeout}
}

// look calls fn with the runs, once Redis answers.
func (f *workflowFlags) look(ctx context.Context, fn func(ctx context.Context, runs *workflow.Store) error) error {
	ctx, client, stop, err := f.ReachRedis(ctx)
	if err != nil {
		return err
	}
	defer stop()
	err = fn(ctx, runsIn(client))
	var ee *cli.Error
	switch {
	case err == nil || errors.As(err, &ee):
		return err
	case ctx.Err() != nil:
		return cli.Fail(cli.ExitInterrupted, "interrupted")
	}
	return cli.Fail(cli.ExitInconclusive, "%s; try again", servers.Plainly(err))
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
	f.addJSON(cmd)
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

func stepsDone(r *workflow.Run) (n int) {
	for _, s := range r.Steps {
		if s.State == workflow.StepSucceeded {
			n++
		}
	}
	return n
}

func printRuns(p *cli.Printer, list []runSummary) error {
	if len(list) == 0 {
		p.Line("No runs.")
		return nil
	}
	tw := tabwriter.NewWriter(p.W, 0, 8, 2, ' ', 0)
	fmt.Fprintf(tw, "STARTED\tRUN\tWORKFLOW\tSTATE\tSTEPS DONE\n")
	for _, r := range list {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%d of %d\n", time.UnixMilli(r.CreatedAt).UTC().Format("01-02 15:04"), r.RunID, r.WorkflowID, r.State, r.StepsDone, r.Steps)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	p.Line("%s; `scheduler workflow show RUN_ID` tells of one.", cli.Plural(len(list), "run"))
	return nil
}

func newWorkflowShow() *cobra.Command {
	var f workflowFlags
	cmd := &cobra.Command{
		Use:   "show RUN_ID",
		Short: "Show a run and its steps",
		Long: `Show prints how far a run is: of each step its state, which try it is at, the job of
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
	f.addJSON(cmd)
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

// printSteps prints a run, and a table of its steps.
func printSteps(p *cli.Printer, r *workflow.Run) error {
	p.Line("%s  %s, %s", p.Paint(cli.Bold, r.RunID), p.Paint(runColor(r.State), string(r.State)), howFar(r))
	p.Line("  a run of %s%s", r.WorkflowID, of(", tenant ", r.Tenant))
	p.Line("  started %s, changed %s", utc(r.CreatedAt), utc(r.UpdatedAt))
	if r.Reason != "" {
		p.Line("  %s", r.Reason)
	}
	p.Line("")
	tw := tabwriter.NewWriter(p.W, 0, 8, 2, ' ', 0)
	fmt.Fprintf(tw, "STEP\tSTATE\tTRY\tJOB\tWHEN\n")
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
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", s.ID, s.State, try, id, when(r, s))
		if s.Reason != "" && s.State != workflow.StepFailed { // that one's is the run's
			failed = append(failed, s.ID+": "+s.Reason)
		}
	}
	if err := tw.Flush(); err != nil {
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
