package main

import (
	"context"
	"io"
	"os"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/cmd/wavetank/diffcmd"
	"github.com/wavetank-sim/wavetank/cmd/wavetank/exportcmd"
	"github.com/wavetank-sim/wavetank/sim"
)

func main() {
	redis.SetLogger(silent{})
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// silent is a log of go-redis: that connections fail is what worlds are for.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// run is the program: it returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	defer sim.EndRedisServers()
	return cli.Main(newRoot(), args, stdout, stderr)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "wavetank",
		Short: "Break a job scheduler on purpose, and replay every failure from its seed",
		Long: `Wavetank runs a complete job scheduler, the real nats-server with JetStream and
Redis (miniredis or redis-server) on a virtual clock, one step at a time, and
breaks things on purpose. The same seed gives the same run, byte for byte, on any
machine. The scheduler itself, over real servers, is a program of its own:
scheduler.

Exit codes: 0 held, 1 an invariant was violated, 2 usage or input,
3 inconclusive, 4 not deterministic, 5 internal, 130 interrupted.`,
		Example: `  wavetank run publish-failure
  wavetank run state-write-failure --set engine.dispatch_order=publish-first
  wavetank fuzz --budget 60s
  wavetank sweep stale-worker-retries
  wavetank list scenarios
  wavetank explain rollback_write`,
		PersistentPreRunE: cli.NamesFiles,
	}
	root.AddCommand(newRun(), newFuzz(), newMerge(), newWork(), newSweep(), newCompare(), newExhaust(), newCheckCertificate(), newOrders(), newPower(), newTriage(), newBisect(), newReport(), newVerify(), newList(), newExplain(), newWhy(), diffcmd.New(), exportcmd.New(), newClaims())
	root.AddCommand(newVersion(), newVerifyWorker(), newCampaignWorker(), newOrdersWorker(), newExhaustWorker(), newPageWorker())
	root.AddCommand(moved()...)
	return cli.Complete(root)
}
