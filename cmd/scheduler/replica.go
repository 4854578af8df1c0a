package main

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// waitReplica is the setting by its name.
const waitReplica = enginePrefix + "wait_replica"

// replicated returns what there is to say in greeting of engine.wait_replica, which begins with the first replica of Redis
// that is seen. It is an error if the setting was asked for, and there is none yet. A Redis of the process's own will never
// have one. A replica that goes away later holds everything up until one is back, but no longer than engine.Budgets says.
func (f *schedulerFlags) replicated(ctx context.Context, client redis.UniversalClient, s *settings.Settings, own bool) (says []string, err error) {
	if !s.WaitReplica {
		return nil, nil
	}
	asked := gives(f.sets, waitReplica)
	if own { // greet says that what it holds is gone when this ends
		if asked {
			return nil, cli.Fail(cli.ExitUsage, "%s=true, but this process's own Redis has no replica; give --redis, or leave the setting out", waitReplica)
		}
		s.WaitReplica = false
		return nil, nil
	}
	n, err := store.Online(ctx, client)
	why := "has no replica"
	if err != nil {
		why = "does not say whether it has a replica (" + servers.Plainly(err) + ")"
	}
	switch {
	case n > 0:
		return []string{"No message is acknowledged before the replicas of Redis have what was written for it, or while Redis has no replica (" + waitReplica + ")"}, nil
	case asked:
		return nil, cli.Fail(cli.ExitInconclusive, "%s=true, but Redis at %s %s; give it one, or leave the setting out", waitReplica, servers.Public(f.RedisURL), why)
	}
	return []string{"Redis " + why + ": until it has one, a failover or the loss of its disk loses acknowledged writes (" + waitReplica + ")"}, nil
}
