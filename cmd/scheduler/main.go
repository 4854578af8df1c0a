package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/buildname"
)

func main() { os.Exit(cli.Main(newRoot(), os.Args[1:], os.Stdout, os.Stderr)) }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "scheduler",
		Short: "Run a job scheduler over Redis and NATS, and give it work",
		Long: `Scheduler runs the engine that wavetank breaks, in real time, against the Redis and
the NATS with JetStream that it is given, or against its own servers, for a trial.

Exit codes: 0 done, 1 a job failed, an invariant was violated, or the state of a job or
a dead letter does not permit what was asked, 2 usage or input, such as another
request under an id that is taken, 3 a server was lost or time ran out, 5 internal,
130 interrupted. The help of each command says more.`,
		Example: `  scheduler serve
  scheduler worker
  scheduler submit --jobs 10 --wait
  scheduler show job-1
  scheduler audit --settled`,
	}
	root.AddGroup(&cobra.Group{ID: "serve", Title: "Processes:"}, &cobra.Group{ID: "jobs", Title: "Jobs:"}, &cobra.Group{ID: "operate", Title: "Operation:"})
	inGroup(root, "serve", newServe(), newWorker(), newKernel())
	inGroup(root, "jobs", newSubmit(), newShow(), newCancel(), newApprove(), newWorkflow())
	inGroup(root, "operate", newDLQ(), newAudit(), newAlerts(), newVersion())
	return cli.Complete(root)
}

// inGroup adds commands that the help lists together.
func inGroup(root *cobra.Command, id string, cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		cmd.GroupID = id
		root.AddCommand(cmd)
	}
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this build",
		Example: "  scheduler version",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "scheduler %s (%s)\n", buildname.Of(), runtime.Version())
			return err
		},
	}
}
