package main

import (
	"context"
	"os"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/sim/tempdir"
)

// newTemp makes a temporary folder in parent; an empty one is that of the machine.
func newTemp(parent string) (dir string, remove func(), err error) {
	if dir, remove, err = tempdir.New(parent, tempdir.Command); err != nil {
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

// inOwnTemp is [ownTemp] for what a Ctrl-C ends: the context that it returns is cancelled then, as by [cli.Interruptible].
// done removes the folder; an end by force removes more, too.
func inOwnTemp(ctx context.Context, parent string, more ...func()) (_ context.Context, done func(), err error) {
	remove, err := ownTemp(parent)
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := cli.Interruptible(ctx, func() {
		remove()
		for _, remove := range more {
			remove()
		}
	})
	return ctx, func() {
		stop()
		remove()
	}, nil
}
