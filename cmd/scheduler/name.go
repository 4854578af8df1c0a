package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/engine/job"
)

// checkName refuses an --id that cannot stand where names of processes do: in NATS subjects, the names of
// consumers, and the tokens of locks.
func checkName(id string) error {
	if !job.IsToken(id) || strings.ContainsAny(id, `/\`) {
		return cli.Fail(cli.ExitUsage, "--id is %q, which cannot be part of a NATS subject; leave out spaces, '.', '*', '>', '/', '\\' and what is not UTF-8", id)
	}
	if len(id) > nameBytesMax {
		return cli.Fail(cli.ExitUsage, "--id has %d bytes; give a name of %d at most", len(id), nameBytesMax)
	}
	return nil
}

// givenName refuses an --id that is given and empty.
func givenName(cmd *cobra.Command) error {
	if id := cmd.Flags().Lookup("id"); id.Changed && id.Value.String() == "" {
		return cli.Fail(cli.ExitUsage, "--id is empty; give a name, or leave --id out for the host's name")
	}
	return nil
}

// hostName is a name for a process of which there is one on a host, as a token of a NATS subject.
func hostName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "localhost"
	}
	return strings.ReplaceAll(name, ".", "-")
}
