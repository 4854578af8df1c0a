package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/faultline-sim/faultline/scenarios"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this build",
		Example: "  faultline version",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "faultline %s (plan format %d, result format %d, %s)\n", scenarios.Build(), scenarios.PlanVersion, scenarios.ResultVersion, runtime.Version())
			return err
		},
	}
}
