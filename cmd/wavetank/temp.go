package main

import (
	"os"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
)

// ownTemp lets all temporary files of this process go to a folder of its own, so that none outlives
// a run that is cut short.
func ownTemp() (remove func(), err error) {
	dir, removeDir, err := cli.NewTemp()
	if err != nil {
		return nil, err
	}
	before, had := os.LookupEnv("TMPDIR")
	return func() {
		removeDir()
		if had {
			_ = os.Setenv("TMPDIR", before)
		} else {
			_ = os.Unsetenv("TMPDIR")
		}
	}, os.Setenv("TMPDIR", dir)
}
