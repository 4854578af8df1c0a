package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/job"
)

type cancelFlags struct {
	servers.Flags
	reason string
}

func newCancel() *cobra.Command {
	var f cancelFlags
	cmd := &cobra.Command{
		Use:   "cancel JOB",
		Short: "Ask a scheduler to cancel a job",
		Long: `Cancel asks ` + "`scheduler serve`" + ` to cancel a job. A job that has not been dispatched
will not be dispatched. If a worker executes the job, it is told, and drops the job. A job
that has ended stays as it is.

Exit codes: 0 asked for, or CANCELLED already, 1 ended otherwise, 2 usage, no such
job, or a server that does not answer, 3 a server lost midway, or a Redis that takes no
writes.`,
		Example: `  scheduler cancel mail-17
  scheduler cancel mail-17 --reason 'sent by hand'`,
		Args: cli.OneArg("the job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	f.AddClient(cmd)
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, in words, `TEXT`")
	return cmd
}

func (f *cancelFlags) run(ctx context.Context, id string, stdout io.Writer) error {
	c := job.Cancel{JobID: id, Reason: f.reason}
	if err := c.Validate(); err != nil {
		return cli.Fail(cli.ExitUsage, "cancel: %v", err)
	}
	ctx, conns, stop, err := f.Reach(ctx, "scheduler cancel")
	if err != nil {
		return err
	}
	defer stop()
	now := endings([]string{id})
	if err := refresh(ctx, conns.Redis, []*ending{&now[0]}); err != nil {
		return servers.Lost(ctx, err, "try again")
	}
	state := now[0].State
	ended := fmt.Sprintf("%s has ended already: it is %s", id, state)
	switch {
	case state == job.Absent:
		return cli.Fail(cli.ExitUsage, "Redis at %s holds no job %q", servers.Public(f.RedisURL), id)
	case state == job.Cancelled: // as asked for
		cli.NewPrinter(stdout).Line("%s", ended)
		return nil
	case state.Terminal():
		return cli.Fail(cli.ExitViolated, "%s", ended)
	}
	if err := conns.Client.Cancel(ctx, id, f.reason); err != nil {
		return servers.Lost(ctx, err, "ask again")
	}
	cli.NewPrinter(stdout).Line("Asked for %s, which is %s, to be cancelled", id, state)
	return nil
}
