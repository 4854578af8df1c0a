package namespace

import (
	"syscall"
	"testing"
)

// WithDisk runs the rest of the test t where disk is a file system of 16 KB that resize gives another size, such as 16m. It
// skips a test that may not mount one.
func WithDisk(t *testing.T, rest func(disk string, resize func(size string))) {
	t.Helper()
	disk := t.TempDir()
	mount := func() error { return syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=16k") }
	run(t, syscall.CLONE_NEWNS, mount, func() {
		defer func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) }()
		rest(disk, func(size string) {
			if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size="+size); err != nil {
				t.Fatal(err)
			}
		})
	})
}
