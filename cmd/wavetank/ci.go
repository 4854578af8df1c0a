package main

import (
	"errors"
	"io"
	"os"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// onGitHub tells GitHub what a run of its Actions found, where there is one: annotations on
// standard error, and the job's summary.
func onGitHub(stderr io.Writer, annotate, summarize func(io.Writer) error) error {
	if os.Getenv("GITHUB_ACTIONS") != "true" {
		return nil
	}
	if err := annotate(stderr); err != nil {
		return err
	}
	name := os.Getenv("GITHUB_STEP_SUMMARY")
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return cli.Fail(cli.ExitUsage, "$GITHUB_STEP_SUMMARY, %s, cannot be written: %v", name, strictyaml.FileReason(err))
	}
	if err := errors.Join(summarize(f), f.Close()); err != nil {
		return cli.Fail(cli.ExitUsage, "$GITHUB_STEP_SUMMARY, %s, cannot be written: %v", name, strictyaml.FileReason(err))
	}
	return nil
}
