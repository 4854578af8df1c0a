package namespace

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// inside is set in the process that is in the namespaces.
const inside = "WAVETANK_TEST_NAMESPACE"

const cannot = "cannot be set up here: "

// run runs the rest of the test t in a process of its own, as root of a user namespace and of those that flags name. It skips
// a test that can have none.
func run(t *testing.T, flags uintptr, rest func()) {
	t.Helper()
	if os.Getenv(inside) != "" {
		rest()
		return
	}
	t.Parallel()
	self := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	self.Env = append(os.Environ(), inside+"=1")
	self.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | flags,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := self.CombinedOutput()
	if self.ProcessState == nil || strings.Contains(string(out), cannot) {
		t.Skipf("NOT TESTED: the namespaces that it needs %s%v\n%s", cannot, err, out)
	}
	require.NoError(t, err, string(out))
}
