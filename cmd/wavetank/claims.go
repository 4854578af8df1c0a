package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/claims"
)

// claimsVersion is the format of what claims --json prints.
const claimsVersion = 1

func newClaims() *cobra.Command {
	var asJSON, open bool
	cmd := &cobra.Command{
		Use:   "claims [WORD ...]",
		Short: "List what the scheduler's documents claim, and what shows that it is true",
		Long: `Claims lists what the documents of the scheduler claim, one claim a line: the document and its part, the claim, and in
brackets what shows that the claim is true. With words, it lists the claims whose lines contain all of them, in any case.

A Go test shows a claim, as file:Test; so does a scenario under a preset, which holds an invariant that it exercises,
breaks one, reaches a situation, tells something in its story, or has counted something. A setting stands for its
documented value, and a metric for its labels. A claim that nothing shows is open, and its line says why. ` + "`make test`" + ` runs all these tests and scenarios.

Exit codes: 0 listed, 2 usage, or no claim has the words.`,
		Example: "  wavetank claims\n  wavetank claims rollback\n  wavetank claims \"dead letters\" publish\n  wavetank claims --open\n  wavetank claims --json | jq -r '.claims[].says'",
		RunE: func(cmd *cobra.Command, args []string) error {
			list := slices.DeleteFunc(claims.All(), func(c claims.Claim) bool { return open && c.Open == "" || !c.About(args...) })
			if len(list) == 0 && len(args) > 0 {
				what, remedy := "claim", "give fewer words, or none for all of them"
				if open {
					what, remedy = "open claim", "leave --open out for all"
				}
				return cli.Usage(cmd, "no %s has %s; %s", what, strings.Join(args, " and "), remedy)
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), map[string]any{"version": claimsVersion, "claims": list})
			}
			for _, c := range list {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s, %s: %s (%s)\n", c.Document, c.Part, c.Says, c.Evidence()); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&open, "open", false, "list only the claims that nothing shows yet")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
