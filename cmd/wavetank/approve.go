package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/job"
)

type approveFlags struct {
	serverFlags
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
An approval is bound to the hash of what was looked at: with --look it shows the
request, its hash and why it must be approved, and approves nothing; with --hash it approves that request
and no other, should the job have been submitted again as something else. It
counts for engine.policy.approval_ttl.

Exit codes: 0 approved, 1 the job does not wait for it or is another request,
2 usage, no such job, or a server that does not answer, 3 a server lost midway, or
a Redis that takes no writes.`,
		Example: `  wavetank approve mail-17 --look
  wavetank approve mail-17 --hash 9f86d081884c7d65... --by 'the mail team'`,
		Args:              oneArg("the job"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	f.addClient(cmd)
	cmd.Flags().StringVar(&f.hash, "hash", "", "approve the request that has this `HASH` (default whatever waits)")
	cmd.Flags().StringVar(&f.by, "by", "", "who approves, `NAME` (default the user's name)")
	cmd.Flags().BoolVar(&f.look, "look", false, "show what waits, and approve nothing")
	for _, name := range []string{"hash", "by"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
	return cmd
}

func (f *approveFlags) run(ctx context.Context, id string, stdout io.Writer) error {
	c := job.Cancel{JobID: id}
	if err := c.Validate(); err != nil {
		return fail(exitUsage, "approve: %v", err)
	}
	if f.look && f.hash != "" {
		return fail(exitUsage, "--look approves nothing; give --hash without it")
	}
	ctx, conns, stop, err := f.reach(ctx, "wavetank approve")
	if err != nil {
		return err
	}
	defer stop()
	client, err := engine.NewClient(engine.ClientConfig{Redis: conns.redis, JetStream: conns.js})
	if err != nil {
		return err
	}
	seen, err := client.Look(ctx, id)
	switch {
	case err != nil:
		return fail(exitInconclusive, "Redis at %s does not answer any more: %v", public(f.redisURL), netReason(err))
	case seen.State == job.Absent:
		return fail(exitUsage, "Redis at %s holds no job %q", public(f.redisURL), id)
	case seen.State.Terminal():
		return fail(exitViolated, "%s has ended already: it is %s", id, seen.State)
	case seen.State != job.ApprovalRequired:
		return fail(exitViolated, "%s does not wait for an approval: it is %s", id, seen.State)
	}
	p := newPrinter(stdout)
	if f.look {
		request, err := json.MarshalIndent(seen.Request, "", "  ")
		if err != nil {
			return err
		}
		p.line("%s", request)
		if seen.Reason != "" {
			p.line("It needs an approval: %s", seen.Reason)
		}
		p.line("Approve it: wavetank approve %s --hash %s", id, seen.Hash)
		return nil
	}
	if f.hash == "" {
		f.hash = seen.Hash
	}
	err = client.Approve(ctx, id, f.hash, whoever(f.by))
	switch {
	case errors.Is(err, engine.ErrChanged):
		return fail(exitViolated, "%s is another request than that; look at it again: wavetank approve %s --look", id, id)
	case errors.Is(err, engine.ErrNotWaiting):
		return fail(exitViolated, "%s does not wait for an approval any more", id)
	case err != nil:
		return fail(exitInconclusive, "%s; ask again", plainly(err))
	}
	p.line("Approved %s, whose hash is %s", id, f.hash)
	return nil
}
