package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// shardFlag lets a command that runs a campaign run a part of it.
type shardFlag struct{ text string }

func (f *shardFlag) add(cmd *cobra.Command, budget string) {
	cmd.Flags().StringVar(&f.text, "shard", "", "run only part `K/N` of the runs, such as 3/16, for merge to combine; index/N takes the part from $"+jobIndex+"; "+budget)
}

// of makes spec that of the shard which the flag names, if it names one.
func (f *shardFlag) of(cmd *cobra.Command, spec *campaign.Spec) error {
	if !cmd.Flags().Changed("shard") {
		return nil
	}
	text, err := indexed(f.text)
	if err != nil {
		return err
	}
	s, err := campaign.ParseShard(text)
	if err != nil {
		return cli.Fail(cli.ExitUsage, "--shard: %v", err)
	}
	spec.Shard = &s
	return nil
}

// jobIndex is the variable in which an indexed Job of Kubernetes says, from 0, which of its pods this is.
const jobIndex = "JOB_COMPLETION_INDEX"

// indexed is a shard's text with the Job's index in it, counted from 1, if it asks for that.
func indexed(text string) (string, error) {
	of, asks := strings.CutPrefix(text, "index/")
	if !asks {
		return text, nil
	}
	index, set := os.LookupEnv(jobIndex)
	if !set {
		return "", cli.Fail(cli.ExitUsage, "--shard %s takes the part from $%s, which is not set; an indexed Job of Kubernetes sets it; elsewhere, write 3/%s", text, jobIndex, of)
	}
	i, err := strconv.Atoi(index)
	n, errN := strconv.Atoi(of)
	switch {
	case err != nil || i < 0:
		return "", cli.Fail(cli.ExitUsage, "$%s is %.60q, not an index; an indexed Job of Kubernetes counts from 0", jobIndex, index)
	case errN == nil && i >= n:
		return "", cli.Fail(cli.ExitUsage, "$%s is %d, but with --shard %s the index goes from 0 to %d; give the Job as many completions as there are shards", jobIndex, i, text, n-1)
	}
	return fmt.Sprintf("%d/%s", i+1, of), nil
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
	return cli.Fail(cli.ExitUsage, "--shard takes a budget in runs, and %s is a time: how many runs fit into a time differs from machine to machine", flag)
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
