package main

import (
	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/alerts"
	"github.com/wavetank-sim/wavetank/engine/grafana"
)

func newAlerts() *cobra.Command {
	var dashboard bool
	cmd := &cobra.Command{
		Use:   "alerts",
		Short: "Print the alerting rules for Prometheus, or the dashboard for Grafana",
		Long: `Alerts prints a file of recording and alerting rules, which Prometheus reads as it is
(rule_files): a failed rollback, requests that fail closed in a row, an open circuit
breaker, growth of the dead-letter queue, and denied replays. With --dashboard it
prints a dashboard, which uses these rules, for Grafana to import.`,
		Example: `  scheduler alerts > scheduler.rules.yaml
  scheduler alerts --dashboard > scheduler.json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file := alerts.Rules
			if dashboard {
				file = grafana.Dashboard
			}
			_, err := cmd.OutOrStdout().Write(file)
			return err
		},
	}
	cmd.Flags().BoolVar(&dashboard, "dashboard", false, "print the dashboard")
	return cmd
}
