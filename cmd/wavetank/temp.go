package main

import (
	"os"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// newTemp makes a temporary folder, and the function that removes it.
func newTemp() (dir string, remove func(), err error) { return newTempNamed("wavetank-") }

// newTempNamed is newTemp with what begins the folder's name.
func newTempNamed(prefix string) (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", prefix)
	if err != nil {
		return "", nil, fail(exitUsage, "no temporary folder: %v; set TMPDIR to one that can be written", strictyaml.FileReason(err))
	}
	return dir, func() {
		const attempts = 100 // a world that still runs may write into it meanwhile
		for range attempts {
			if os.RemoveAll(dir) == nil {
				return
			}
		}
	}, nil
}

// ownTemp lets all temporary files of this process go to a folder of its own, so that none outlives
// a run that is cut short.
func ownTemp() (remove func(), err error) {
	dir, removeDir, err := newTemp()
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
