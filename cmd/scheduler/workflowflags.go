package main

import (
	"context"
	"errors"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

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
	if err == nil || errors.As(err, &ee) {
		return err
	}
	return servers.Lost(ctx, err, "try again")
}
