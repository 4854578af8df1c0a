package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine"
	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/scenarios/policyfile"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// dlqFlags are those of all that talk to servers.
type dlqFlags struct {
	servers.Flags
	policy string
	ledger *pflag.Flag
	json   bool
	by     string
	groups []string
	group  *pflag.Flag // by which they are given
}

func (f *dlqFlags) addPolicy(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.policy, "policy", "", "a triage policy, `FILE`: it replaces the defaults of the classes for dead letters that no scheduler has triaged; for those that one has triaged, it can only be stricter")
}

func (f *dlqFlags) addBy(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.by, "by", "", "who decides, `NAME`, for the audit trail (default the user's name)")
	cmd.Flags().StringSliceVar(&f.groups, "group", nil, "a `GROUP` of the person who decides, since only its group may decide about what the triage policy leaves to a group; repeatable")
	f.group = cmd.Flags().Lookup("group")
}

// with calls fn with what triages and replays, once both servers answer and the policy is read.
func (f *dlqFlags) with(ctx context.Context, fn func(ctx context.Context, r *dlq.Replayer) error) error {
	blank := func(name string) bool { return strings.TrimSpace(name) == "" }
	if f.group.Changed && (len(f.groups) == 0 || slices.ContainsFunc(f.groups, blank)) {
		return cli.Fail(cli.ExitUsage, "--group is empty; name a group, or leave --group out")
	}
	policy, err := loadTriage(f.policy)
	if err != nil {
		return err
	}
	ledger, err := openOutside(f.ledger)
	if err != nil {
		return err
	}
	ctx, conns, stop, err := f.Reach(ctx, "scheduler dlq")
	if err != nil {
		return err
	}
	defer stop()
	r, err := engine.NewReplayer(engine.ReplayerConfig{ClientConfig: engine.ClientConfig{Redis: conns.Redis, JetStream: conns.JS}, Triage: policy, Ledger: ledger})
	if err != nil {
		return err
	}
	return f.said(ctx, fn(ctx, r))
}

// look is with for what only looks, and needs no NATS: what fn gets can neither replay nor decide.
func (f *dlqFlags) look(ctx context.Context, fn func(ctx context.Context, r *dlq.Replayer) error) error {
	policy, err := loadTriage(f.policy)
	if err != nil {
		return err
	}
	ctx, client, stop, err := f.ReachRedis(ctx)
	if err != nil {
		return err
	}
	defer stop()
	return f.said(ctx, fn(ctx, &dlq.Replayer{Queue: deadLetters(client), Policy: policy, Triage: true}))
}

// deadLetters is the queue, to be read.
func deadLetters(client *redis.Client) *dlq.Queue {
	s := settings.Hardened()
	return &dlq.Queue{Redis: client, Clock: clockwork.NewRealClock(), TTL: s.DLQEntryTTL, Timeout: s.StoreOpTimeout}
}

// said is an error about dead letters in words, and its exit code.
func (f *dlqFlags) said(ctx context.Context, err error) error {
	var ee *cli.Error
	switch {
	case err == nil || errors.As(err, &ee):
		return err
	case errors.Is(err, dlq.ErrNoEntry):
		return cli.Fail(cli.ExitUsage, "Redis at %s holds no dead letter of %s; `scheduler dlq list` names those that it holds", servers.Public(f.RedisURL), strings.TrimSuffix(err.Error(), ": "+dlq.ErrNoEntry.Error()))
	case errors.Is(err, dlq.ErrRefused):
		return cli.Fail(cli.ExitViolated, "%s", strings.TrimPrefix(err.Error(), dlq.ErrRefused.Error()+": "))
	}
	return servers.Lost(ctx, err, "try again")
}

// loadTriage reads the triage policy's file; no file is no policy.
func loadTriage(path string) (*dlq.Policy, error) {
	if path == "" {
		return nil, nil
	}
	data, err := strictyaml.ReadFile(path, "the file of a triage policy")
	if err != nil {
		return nil, err
	}
	return policyfile.Triage(path, data)
}
