package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/workflow"
)

type workflowStartFlags struct {
	workflowFlags
	wait    bool
	timeout time.Duration
}

func newWorkflowStart() *cobra.Command {
	var f workflowStartFlags
	cmd := &cobra.Command{
		Use:   "start FILE",
		Short: "Start a run, and wait for it",
		Long: `Start gives a run to the schedulers, one of which takes it up within seconds. If a run
is started twice under one run_id, it stays as it was first started. With --wait, start
waits until the run is over; it then exits 0 if the run succeeded, 1 if it failed, 3 if
--timeout came first.

FILE is one run, in YAML or JSON; - reads standard input:

  run_id: nightly-17               # needed, as workflow_id and steps are
  workflow_id: nightly             # what it is a run of
  tenant: acme
  steps:
    - id: extract                  # needed, as topic is; no dashes
      topic: job.default
      payload: {table: orders}     # for the worker
      compensation:                # undoes the step if the run fails later on:
        payload: {drop: orders}    #   topic, payload, labels, env, budget, capability
    - id: load
      topic: job.default
      depends_on: [extract]        # steps above it
      delay_sec: 30                # after those; delay_until is a time of its own
      retry: {max: 2, backoff_ms: 1000}
      labels: {team: data}

Other exit codes: 2 usage, a file that is no run, or a server that does not answer
at the start, 3 a server lost midway, or a Redis that takes no writes, 130 interrupted.`,
		Example: `  scheduler workflow start nightly.yaml
  scheduler workflow start nightly.yaml --wait --timeout 10m
  jq '.run_id = "nightly-18"' nightly.json | scheduler workflow start -`,
		Args: cli.OneArg("the file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.AddClient(cmd)
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait until the run is over")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "with --wait, wait at most so long, `DURATION` (default for ever)")
	return cmd
}

func (f *workflowStartFlags) run(ctx context.Context, path string, stdin io.Reader, stdout, stderr io.Writer) error {
	switch {
	case f.timeout < 0:
		return cli.Fail(cli.ExitUsage, "--timeout is %v, out of range; give a duration of 0s or more", f.timeout)
	case f.timeout > 0 && !f.wait:
		return cli.Fail(cli.ExitUsage, "--timeout limits --wait, which is not given; give both")
	}
	run, err := loadRun(path, stdin)
	if err != nil {
		return err
	}
	ctx, conns, stop, err := f.Reach(ctx, "scheduler workflow")
	if err != nil {
		return err
	}
	defer stop()
	started, err := conns.Client.StartRun(ctx, run)
	if err != nil {
		return servers.Lost(ctx, err, fmt.Sprintf("whether %s was started is not known: start it again; it stays one run", run.RunID))
	}
	p := cli.NewPrinter(stdout)
	if started {
		p.Line("Started %s, a run of %s with %s", run.RunID, run.WorkflowID, cli.Plural(len(run.Steps), "step"))
	} else {
		p.Line("The run %s exists already; it stays as it was first started", run.RunID)
	}
	if !f.wait {
		p.Line("Show its progress: %s", cli.Pasteable("scheduler workflow show "+run.RunID))
		return nil
	}
	show := cli.NewProgress(stderr, false)
	now, late, err := f.await(ctx, conns.Redis, run, show, stderr)
	show.Done()
	if err != nil {
		return err
	}
	return concludeRun(p, &now, late)
}

// await reads the run until it is over, or until --timeout is, if there is one: then late says so. A Redis that does
// not answer meanwhile is asked again.
func (f *workflowStartFlags) await(ctx context.Context, client *redis.Client, run workflow.Run, show *cli.Progress, stderr io.Writer) (_ workflow.Run, late string, _ error) {
	runs, v := runsIn(client), vigil{client: client, show: show, stderr: stderr}
	look := func() (over bool, _ error) {
		now, err := runs.Read(ctx, run.RunID)
		switch {
		case errors.Is(err, workflow.ErrNotFound):
			return false, cli.Fail(cli.ExitInconclusive, "Redis at %s holds no run %s any more; start it again", servers.Public(f.RedisURL), run.RunID)
		case err != nil && !servers.NoAnswer(err):
			return false, cli.Fail(cli.ExitInconclusive, "%v; this is not a record of a run", err)
		case err != nil:
			return false, err
		}
		run = now
		if step, id := underWay(&run); id != "" {
			v.wonder(ctx, id, "waiting for step "+step, id)
		}
		return run.Over(), nil
	}
	late, err := v.until(ctx, f.timeout, look, func() string { return howFar(&run) })
	if errors.Is(err, cli.ErrInterrupted) {
		err = cli.Fail(cli.ExitInterrupted, "interrupted; the run goes on, %s: scheduler workflow show %s", howFar(&run), run.RunID)
	}
	return run, late, err
}

// underWay is the first step of a run whose job is under way, and that job.
func underWay(r *workflow.Run) (step, id string) {
	for i := range r.Steps {
		if s := &r.Steps[i]; s.State == workflow.StepSubmitted {
			return s.ID, s.JobID
		}
	}
	return "", ""
}

// concludeRun says what became of a run that was waited for.
func concludeRun(p *cli.Printer, r *workflow.Run, late string) error {
	state, code := r.State, cli.ExitInconclusive
	says := howFar(r)
	switch state {
	case workflow.Succeeded:
		p.Line("%s  %s: %s", p.Paint(cli.Green, string(state)), r.RunID, says)
		return nil
	case workflow.Failed:
		says, code = r.Reason, cli.ExitViolated
	default:
		state = workflow.Running // or nobody has read it yet
	}
	p.Line("%s  %s: %s", p.Paint(runColor(state), string(state)), r.RunID, says)
	p.Line("See its steps: %s", cli.Pasteable("scheduler workflow show "+r.RunID))
	return &cli.Error{Code: code, Text: late}
}
