package smalldisk

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// inNamespace is set in a process that may mount a file system, which nobody else sees.
const inNamespace = "WAVETANK_TEST_NAMESPACE"

const cannotMount = "cannot mount: "

// Test runs the rest of the test t in a process of its own, where disk is a file system of 16 KB that resize gives another
// size, such as 16m. It skips a test that may not mount one.
func Test(t *testing.T, rest func(disk string, resize func(size string))) {
	t.Helper()
	if os.Getenv(inNamespace) == "" {
		t.Parallel()
		self := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		self.Env = append(os.Environ(), inNamespace+"=1")
		self.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		out, err := self.CombinedOutput()
		if self.ProcessState == nil || strings.Contains(string(out), cannotMount) {
			t.Skipf("NOT TESTED: no small file system can be mounted here (%v)\n%s", err, out)
		}
		require.NoError(t, err, string(out))
		return
	}
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=16k"); err != nil {
		t.Fatal(cannotMount, err)
	}
	defer func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) }()
	rest(disk, func(size string) {
		require.NoError(t, syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size="+size))
	})
}
