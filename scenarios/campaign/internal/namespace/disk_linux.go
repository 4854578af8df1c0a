package namespace

import (
	"syscall"
	"testing"
)

// WithDisk runs the rest of the test t with disk, a file system of 16 KB. resize changes its size, for
// example to 16m. WithDisk skips the test if it may not mount a file system.
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
