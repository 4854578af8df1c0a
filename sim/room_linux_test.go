package sim

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A nats-server that cannot store says so in its log alone, and what comes then is no run of the plan.
func TestARunEndsWhereItsServersHaveNoRoom(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system takes a root: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	t.Setenv("TMPDIR", dir)
	fill := func(bytes int) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "others"), make([]byte, bytes), 0o600))
	}
	run := func(during func()) error {
		_, err := Run(Config{Seed: 1}, func(w *World) error {
			w.Node("n", func(p *Process) {
				for {
					p.Redis().Incr(context.Background(), "n")
				}
			}).Start()
			w.Step(time.Millisecond, nil)
			during()
			w.Step(time.Minute, nil)
			return nil
		})
		return err
	}
	err := run(func() { fill(1<<20 - 128<<10) })
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, "let TMPDIR name a folder that has")
	require.ErrorIs(t, run(func() {}), syscall.ENOSPC, "it does not begin either")
}
