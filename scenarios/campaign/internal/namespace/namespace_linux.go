package namespace

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// inside is set in a process that is in the namespaces.
const inside = "WAVETANK_TEST_NAMESPACE"

// require is set if no test may be skipped.
const require = "WAVETANK_REQUIRE_NAMESPACES"

const cannot = "cannot be set up here: "

// run runs the rest of the test t in a process of its own, after setUp. The process is root of a user
// namespace and of the namespaces that flags name. run skips the test if there can be no such namespaces.
func run(t *testing.T, flags uintptr, setUp func() error, rest func()) {
	t.Helper()
	if os.Getenv(inside) != "" {
		if err := setUp(); err != nil {
			t.Fatal(cannot, err)
		}
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
	switch leftOut := self.ProcessState == nil || strings.Contains(string(out), cannot); {
	case leftOut && os.Getenv(require) != "":
		t.Fatalf("the namespaces that it needs %s%v, and $%s allows no omission\n%s", cannot, err, require, out)
	case leftOut:
		t.Skipf("LEFT OUT: the namespaces that it needs %s%v\n%s", cannot, err, out)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	}
}
