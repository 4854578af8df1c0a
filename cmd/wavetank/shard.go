package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// shardFlag lets a command that runs a campaign run a part of it.
type shardFlag struct{ text string }

func (f *shardFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.text, "shard", "", "run part `K/N` of the runs alone, such as 3/16, for wavetank merge to put together; takes a budget in runs")
}

// of makes spec that of the shard which the flag names, if it names one.
func (f *shardFlag) of(cmd *cobra.Command, spec *campaign.Spec) error {
	if !cmd.Flags().Changed("shard") {
		return nil
	}
	s, err := campaign.ParseShard(f.text)
	if err != nil {
		return cli.Fail(cli.ExitUsage, "--shard: %v", err)
	}
	spec.Shard = &s
	return nil
}

// shardDir is where a shard of the campaign in dir goes that has no folder from the user.
func shardDir(dir string, s *campaign.Shard) string {
	if s == nil {
		return dir
	}
	return fmt.Sprintf("%s-shard-%d-of-%d", dir, s.K, s.N)
}

// notInTime refuses a shard of a budget in time.
func notInTime(spec *campaign.Spec, budget time.Duration, flag string) error {
	if spec.Shard == nil || budget == 0 {
		return nil
	}
	return cli.Fail(cli.ExitUsage, "--shard takes a budget in runs, and %s is a time: how many runs fit into it is not the same on each machine", flag)
}

// noShards refuses --shard by name where there are none.
func noShards(cmd *cobra.Command, why string) {
	var text string
	cmd.Flags().StringVar(&text, "shard", "", "")
	_ = cmd.Flags().MarkHidden("shard")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("shard") {
			return cli.Fail(cli.ExitUsage, "%s takes no --shard: %s", cmd.Name(), why)
		}
		return run(cmd, args)
	}
}
