package namespace

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// WithDisk runs the rest of the test t where disk is a file system of 16 KB that resize gives another size, such as 16m. It
// skips a test that may not mount one.
func WithDisk(t *testing.T, rest func(disk string, resize func(size string))) {
	t.Helper()
	run(t, syscall.CLONE_NEWNS, func() {
		disk := t.TempDir()
		if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=16k"); err != nil {
			t.Fatal(cannot, err)
		}
		defer func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) }()
		rest(disk, func(size string) {
			require.NoError(t, syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size="+size))
		})
	})
}
