package main

import (
	"context"
	"errors"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/workflow"
)

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
