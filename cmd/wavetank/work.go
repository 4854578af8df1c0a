package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/campaign/queue"
	"github.com/wavetank-sim/wavetank/sim/tempdir"
)

type workFlags struct {
	queueFlags
	workers int
	once    bool
}

func newWork() *cobra.Command {
	var f workFlags
	cmd := &cobra.Command{
		Use:   "work --queue URL",
		Short: "Do runs of the campaigns that wait in a queue",
		Long: `Work joins the campaigns that fuzz, exhaust, sweep and compare have put on a
nats-server with --queue. It runs one process for each processor, and waits for the next
campaign when one is over. Any number of machines may work, and each may join and leave
at any time. Runs that a machine has begun and not finished when it leaves go to another.
If there are several campaigns, work does runs of the oldest that has runs for it.

It refuses campaigns of another build: runs are the same only in the same program.

Exit codes: 0 it left, or with --once a campaign is over; 2 usage, another build, or a
server that cannot be used, permits too little, or has closed the connection for good.`,
		Example: `  wavetank work --queue nats://nats:4222
  wavetank work --queue tls://nats:4222 --queue-creds work.creds --workers 4`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.chunk = queue.ChunkRuns
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.work(cmd.Context(), cmd.ErrOrStderr())
		},
	}
	f.add(cmd, "where campaigns wait for machines")
	cmd.Flags().IntVar(&f.workers, "workers", 0, "worker processes, `N` (default one for each processor)")
	cmd.Flags().BoolVar(&f.once, "once", false, "leave when a campaign is over")
	return cmd
}

func (f *workFlags) check(cmd *cobra.Command) error {
	switch {
	case !cmd.Flags().Changed("queue"):
		return cli.Usage(cmd, "work needs the queue's server; give it with --queue")
	case cmd.Flags().Changed("workers") && f.workers < 1 || f.workers > workersMax:
		return cli.Fail(cli.ExitUsage, "--workers is %d, out of range; give 1 to %d", f.workers, workersMax)
	}
	return f.queueFlags.check(cmd)
}

func (f *workFlags) work(ctx context.Context, stderr io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, done, err := inOwnTemp(ctx, tempdir.Memory())
	if err != nil {
		return err
	}
	defer done()
	conn, err := f.server.Dial(ctx, "wavetank work")
	if err != nil {
		return f.unusable(err)
	}
	defer conn.Close()
	err = queue.Work(ctx, conn, queue.WorkOptions{Workers: f.workers, Command: []string{self, campaignWorker}, Once: f.once, Say: sayer(stderr)})
	if err != nil {
		return cli.Fail(cli.ExitUsage, "%v", err)
	}
	return nil
}
