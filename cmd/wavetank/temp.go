package main

import (
	"os"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/sim/tempdir"
)

// newTemp makes a temporary folder in parent; an empty one is that of the machine.
func newTemp(parent string) (dir string, remove func(), err error) {
	if dir, remove, err = tempdir.New(parent, "wavetank-command-"); err != nil {
		return "", nil, cli.NoTemp(err)
	}
	return dir, remove, nil
}

// ownTemp lets all temporary files of this process go to a folder of its own in parent, so that none outlives
// a run that is cut short.
func ownTemp(parent string) (remove func(), err error) {
	dir, removeDir, err := newTemp(parent)
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
