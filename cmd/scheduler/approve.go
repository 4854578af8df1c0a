package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/job"
)

type approveFlags struct {
	servers.Flags
	hash string
	by   string
	look bool
}

func newApprove() *cobra.Command {
	var f approveFlags
	cmd := &cobra.Command{
		Use:   "approve JOB",
		Short: "Approve a job that waits for it",
		Long: `Approve lets a job go on that the safety kernel has parked as APPROVAL_REQUIRED.
With --look, it shows the request, its hash and why it needs an approval, and approves
nothing. With --hash, it approves only the request with that hash, even if the job was
submitted again with another request. An approval counts for
engine.policy.approval_ttl.

Exit codes: 0 approved, 1 the job does not wait for it or is another request,
2 usage, no such job, or a server that does not answer, 3 a server lost midway, or
a Redis that takes no writes.`,
		Example: `  scheduler approve mail-17 --look
  scheduler approve mail-17 --hash 9f86d081884c7d65... --by 'the mail team'`,
		Args: cli.OneArg("the job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	f.AddClient(cmd)
	cmd.Flags().StringVar(&f.hash, "hash", "", "approve only the request with this `HASH` (default the request that waits)")
	cmd.Flags().StringVar(&f.by, "by", "", "who approves, `NAME` (default the user's name)")
	cmd.Flags().BoolVar(&f.look, "look", false, "show the request that waits, and approve nothing")
	return cmd
}

func (f *approveFlags) run(ctx context.Context, id string, stdout io.Writer) error {
	c := job.Cancel{JobID: id}
	if err := c.Validate(); err != nil {
		return cli.Fail(cli.ExitUsage, "approve: %v", err)
	}
	if f.look && f.hash != "" {
		return cli.Fail(cli.ExitUsage, "--look approves nothing; give --hash without it")
	}
	ctx, conns, stop, err := f.Reach(ctx, "scheduler approve")
	if err != nil {
		return err
	}
	defer stop()
	seen, err := conns.Client.Look(ctx, id)
	switch {
	case err != nil:
		return servers.Lost(ctx, err, "try again")
	case seen.State == job.Absent:
		return cli.Fail(cli.ExitUsage, "Redis at %s holds no job %q", servers.Public(f.RedisURL), id)
	case seen.State.Terminal():
		return cli.Fail(cli.ExitViolated, "%s has ended already: it is %s", id, seen.State)
	case seen.State != job.ApprovalRequired:
		return cli.Fail(cli.ExitViolated, "%s does not wait for an approval: it is %s", id, seen.State)
	}
	p := cli.NewPrinter(stdout)
	if f.look {
		request, err := json.MarshalIndent(seen.Request, "", "  ")
		if err != nil {
			return err
		}
		p.Line("%s", request)
		if seen.Reason != "" {
			p.Line("It needs an approval: %s", seen.Reason)
		}
		p.Line("Approve it: %s", cli.Pasteable("scheduler approve "+id+" --hash "+seen.Hash))
		return nil
	}
	if f.hash == "" {
		f.hash = seen.Hash
	}
	err = conns.Client.Approve(ctx, id, f.hash, whoever(f.by))
	switch {
	case errors.Is(err, engine.ErrChanged):
		return cli.Fail(cli.ExitViolated, "the request of %s has another hash; look at it again: scheduler approve %s --look", id, id)
	case errors.Is(err, engine.ErrNotWaiting):
		return cli.Fail(cli.ExitViolated, "%s does not wait for an approval any more", id)
	case err != nil:
		return servers.Lost(ctx, err, "ask again")
	}
	p.Line("Approved %s, whose hash is %s", id, f.hash)
	return nil
}

// whoever is the name by which a person's decision goes on record.
func whoever(by string) string {
	if by != "" {
		return by
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "operator"
}
