package main

import (
	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
)

// moved are the commands that scheduler has now, and which name they have there.
func moved() (list []*cobra.Command) {
	now := map[string]string{"scheduler": "serve"}
	for _, name := range []string{"scheduler", "kernel", "worker", "submit", "show", "workflow", "approve", "cancel", "dlq", "audit"} {
		if now[name] == "" {
			now[name] = name
		}
		list = append(list, &cobra.Command{
			Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return cli.Fail(cli.ExitUsage, "%s is a command of the program scheduler; run scheduler %s (go build ./cmd/scheduler, or make build)", name, now[name])
			},
		})
	}
	return list
}
