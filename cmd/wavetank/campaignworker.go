package main

import (
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
)

// campaignWorker is the hidden command of a campaign's worker processes.
const campaignWorker = "campaign-worker"

func newCampaignWorker() *cobra.Command {
	return &cobra.Command{
		Use:    campaignWorker,
		Short:  "Do the runs that a campaign asks for on standard input",
		Hidden: true,
		Args:   cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			signal.Ignore(cli.Interrupts()...) // they are for the parent, whose end ends the input
			return campaign.Serve(cmd.Context(), os.Stdin, os.Stdout, campaign.ServeOptions{Run: runPlan})
		},
	}
}
