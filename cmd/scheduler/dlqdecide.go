package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/dlq"
)

type dlqReplayFlags struct {
	dlqFlags
	all, dryRun bool
}

func newDLQReplay() *cobra.Command {
	var f dlqReplayFlags
	cmd := &cobra.Command{
		Use:   "replay [JOB...]",
		Short: "Replay dead letters now",
		Long: `Replay makes a new job of a dead letter, under the same idempotency key, unless the
job is known to have had its effect after all. Schedulers with --dlq-policy replay the
dead letters that they have triaged themselves, at their next tick. They also note each
job that succeeds, by its tenant and its idempotency key. Schedulers without it note only
replays that succeed: then only the system that --ledger names knows of a job that
succeeds late.

Replay refuses a dead letter that the triage policy quarantines, that waits for an
approval, or that the policy leaves to an owner whose group --group does not name. It
also refuses a step of a run, since the run itself tries its steps again. A decision of
the schedulers stands; --policy can only be stricter. Schedulers with a safety kernel
decide anew on the new job.

With --all, it replays every dead letter whose action is auto_replay, and no other. If
one of several is refused, the others are still replayed.

Exit codes: 0 replayed, to be replayed, or done already, 1 refused, 2 usage, no such dead letter, or a
server that does not answer, 3 a server lost midway, or a Redis that takes no writes.`,
		Example: `  scheduler dlq replay mail-17
  scheduler dlq replay --all --policy triage.yaml --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.all && len(args) > 0:
				return cli.Usage(cmd, "replay takes jobs or --all, not both")
			case !f.all && len(args) == 0:
				return cli.Usage(cmd, "replay: the job is missing")
			}
			return f.run(cmd.Context(), args, cmd.OutOrStdout())
		},
	}
	f.AddClient(cmd)
	f.addPolicy(cmd)
	f.addBy(cmd)
	cmd.Flags().String("ledger", "", outsideUsage)
	f.ledger = cmd.Flags().Lookup("ledger")
	cmd.Flags().BoolVar(&f.all, "all", false, "every dead letter whose action is auto_replay")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print what would be done, and do nothing")
	return cmd
}

func (f *dlqReplayFlags) run(ctx context.Context, ids []string, stdout io.Writer) error {
	p := cli.NewPrinter(stdout)
	return f.with(ctx, func(ctx context.Context, r *dlq.Replayer) error {
		if f.all {
			entries, err := r.Queue.List(ctx)
			if err != nil {
				return err
			}
			for _, e := range entries {
				waits := e.ReplayStatus == dlq.PendingReview || e.ReplayStatus == dlq.Scheduled
				if waits && r.Stands(&e).Action == dlq.AutoReplay {
					ids = append(ids, e.JobID)
				}
			}
		}
		var refused error
		for i, id := range ids {
			err := f.one(ctx, r, p, id)
			rest := ids[i+1:]
			switch {
			case err == nil:
			case f.all && errors.Is(err, dlq.ErrChanged):
				p.Line("%s has changed in the meantime, and was not replayed", id)
			case len(ids) > 1 && (errors.Is(err, dlq.ErrRefused) || errors.Is(err, dlq.ErrNoEntry)):
				refused = f.oneOf(ctx, p, err)
			case len(rest) > 0:
				return fmt.Errorf("%w; not tried: %s", err, strings.Join(rest, ", "))
			default:
				return err
			}
		}
		if len(ids) == 0 {
			p.Line("Nothing to replay.")
		}
		return refused
	})
}

// oneOf says why one of several is not replayed, and leaves the exit code.
func (f *dlqReplayFlags) oneOf(ctx context.Context, p *cli.Printer, err error) error {
	said := f.said(ctx, err)
	p.Line("%s", said)
	var ee *cli.Error
	if errors.As(said, &ee) {
		return &cli.Error{Code: ee.Code}
	}
	return said
}

func (f *dlqReplayFlags) one(ctx context.Context, r *dlq.Replayer, p *cli.Printer, id string) error {
	if f.dryRun {
		e, err := r.May(ctx, id)
		if err != nil {
			return err
		}
		unless := ""
		if f.ledger.Changed {
			unless = ", unless the ledger says that it has been done"
		}
		p.Line("%s would be replayed, after %s%s", id, e.ReasonCode, unless)
		return nil
	}
	e, err := r.Replay(ctx, id, f.who())
	switch {
	case err != nil:
		return err
	case e.ReplayStatus == dlq.Replayed:
		p.Line("%s is replayed as %s", id, e.ReplayJob)
	default:
		p.Line("%s is %s: %s", id, e.ReplayStatus, e.ReplayReason)
	}
	return nil
}

// who decides.
func (f *dlqFlags) who() dlq.Person { return dlq.Person{Name: whoever(f.by), Groups: f.groups} }

func newDLQApprove() *cobra.Command {
	var f dlqFlags
	cmd := &cobra.Command{
		Use:   "approve JOB",
		Short: "Approve the replay of a dead letter that waits for it",
		Long: `Approve approves the replay of a dead letter whose action is require_approval. The
schedulers' next tick then replays it, if they have --dlq-policy; so does ` + "`scheduler dlq replay`" + `.
If the policy names an approver_group, --group must name the same group.

Exit codes: 0 approved, 1 it waits for no approval, or not for that person's, 2 usage, no such dead letter, or a
server that does not answer, 3 a server lost midway, or a Redis that takes no writes.`,
		Example: `  scheduler dlq approve mail-17 --by ana --group platform-governance`,
		Args:    cli.OneArg("the job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.with(cmd.Context(), func(ctx context.Context, r *dlq.Replayer) error {
				if err := r.Approve(ctx, args[0], f.who()); err != nil {
					return err
				}
				cli.NewPrinter(cmd.OutOrStdout()).Line("The replay of %s is approved.", args[0])
				return nil
			})
		},
	}
	f.AddClient(cmd)
	f.addPolicy(cmd)
	f.addBy(cmd)
	return cmd
}

func newDLQMend() *cobra.Command {
	var f dlqFlags
	var payload string
	cmd := &cobra.Command{
		Use:   "mend JOB",
		Short: "Replay a quarantined dead letter with another payload",
		Long: `Mend gives a dead letter that is quarantined another payload. It is then replayed with
that payload, under the same idempotency key: by the schedulers' next tick, if they have
--dlq-policy, or by ` + "`scheduler dlq replay`" + `. If the policy names an owner, --group must name the same group.

Exit codes: 0 mended, 1 it is not quarantined, or for others to mend, 2 usage, no such
dead letter, or a server that does not answer, 3 a server lost midway, or a Redis that
takes no writes.`,
		Example: `  scheduler dlq mend mail-17 --payload '{"to": "you"}' --group integration-team`,
		Args:    cli.OneArg("the job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !json.Valid([]byte(payload)) {
				return cli.Fail(cli.ExitUsage, "--payload is %.40q, which is not JSON; a text needs quotes of its own: '\"text\"'", payload)
			}
			return f.with(cmd.Context(), func(ctx context.Context, r *dlq.Replayer) error {
				if err := r.Mend(ctx, args[0], json.RawMessage(payload), f.who()); err != nil {
					return err
				}
				cli.NewPrinter(cmd.OutOrStdout()).Line("%s has another payload. Schedulers with --dlq-policy replay it at their next tick. Or replay it with: %s", args[0], cli.Pasteable("scheduler dlq replay "+args[0]))
				return nil
			})
		},
	}
	f.AddClient(cmd)
	f.addPolicy(cmd)
	f.addBy(cmd)
	cmd.Flags().StringVar(&payload, "payload", "", "what the worker is given, `JSON`")
	return cmd
}

func newDLQDeny() *cobra.Command {
	var f dlqFlags
	var reason string
	cmd := &cobra.Command{
		Use:   "deny JOB",
		Short: "Deny the replay of a dead letter for good",
		Long: `Deny denies the replay of a dead letter that has not been replayed yet: nothing replays
it any more. If the triage policy leaves a dead letter to a group, only that group may
deny it.

Exit codes: 0 denied, 1 too late, 2 usage, no such dead letter, or a server that does
not answer, 3 a server lost midway, or a Redis that takes no writes.`,
		Example: `  scheduler dlq deny mail-17 --reason 'sent by hand'`,
		Args:    cli.OneArg("the job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.with(cmd.Context(), func(ctx context.Context, r *dlq.Replayer) error {
				if err := r.Deny(ctx, args[0], f.who(), reason); err != nil {
					return err
				}
				cli.NewPrinter(cmd.OutOrStdout()).Line("The replay of %s is denied.", args[0])
				return nil
			})
		},
	}
	f.AddClient(cmd)
	f.addBy(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, in words, `TEXT`")
	return cmd
}
