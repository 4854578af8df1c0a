// Wavetank-alerts evaluates the scheduler's alerting rules over what a run's schedulers exported, by Prometheus's own
// packages. It is a program of its own because those take as long to compile as half of all the rest.
package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	rules "github.com/wavetank-sim/wavetank/engine/alerts"
	"github.com/wavetank-sim/wavetank/reports"
	"github.com/wavetank-sim/wavetank/scenarios/alerts"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program: it returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	return cli.Main(newRoot(), args, stdout, stderr)
}

func newRoot() *cobra.Command {
	var file string
	root := &cobra.Command{
		Use:   "wavetank-alerts [DIR]",
		Short: "Say which alerts fire in a run",
		Long: `Wavetank-alerts evaluates alerting rules over what the schedulers of a run
exported, at each scrape of the world's time, by Prometheus's own packages. The
rules are those that ship with the scheduler. DIR is the folder of a run
(default runs/latest).

It says when each alert fired, and how long before or after a timeout or an
invariant noticed. It adds that to the story and the plots of the run's page.
It leaves alerts.yaml and promtool.yaml in the folder, so that

    promtool test rules DIR/promtool.yaml

passes if promtool comes to the same alerts.

Exit codes: 0 evaluated, whatever fired; 2 usage or input.`,
		Example: `  wavetank run rollback-failure && wavetank-alerts
  wavetank-alerts runs/policy-outage-1
  wavetank-alerts --rules my-rules.yaml`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usage(cmd, "%q is one folder too many", args[1])
			}
			dir := filepath.Join("runs", "latest")
			if len(args) > 0 {
				dir = args[0]
			}
			given := rules.Rules
			if file != "" {
				var err error
				if given, err = os.ReadFile(file); err != nil {
					return cli.Fail(cli.ExitUsage, "%v", err)
				}
			}
			return evaluate(dir, file, given, cli.NewPrinter(cmd.OutOrStdout()))
		},
	}
	root.Flags().StringVar(&file, "rules", "", "rules to evaluate in place of the scheduler's own, `FILE`")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return cli.Usage(cmd, "%v", err) })
	return root
}

func evaluate(dir, file string, rules []byte, say *cli.Printer) error {
	stored, err := reports.Read(dir)
	if err != nil {
		return cli.Fail(cli.ExitUsage, "%v", err)
	}
	if stored.Run == nil || stored.Run.Samples == nil {
		return cli.Fail(cli.ExitUsage, "%s holds no samples of a run; give the folder of one that `wavetank run` made", dir)
	}
	fired, err := alerts.Evaluate(stored.Run.Samples, rules)
	var test bytes.Buffer
	if err == nil {
		err = alerts.Promtool(&test, stored.Run.Scenario, stored.Run.Samples, rules, reports.RulesFile)
	}
	if err != nil {
		if file != "" {
			file += ": "
		}
		return cli.Fail(cli.ExitUsage, "%s%v", file, err)
	}
	if err := stored.WriteAlerts(fired, rules, test.Bytes()); err != nil {
		if broken := new(reports.FileError); errors.As(err, &broken) {
			return cli.Fail(cli.ExitUsage, "%v", err)
		}
		return err
	}
	for _, a := range fired {
		say.Line("%s", stored.Run.Noticed(a))
	}
	if len(fired) == 0 {
		say.Line("No alert fired.")
	}
	say.Line("Report: %s", filepath.Join(dir, reports.PageFile))
	return nil
}
