package queue

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// inNamespace is set in a process that may mount a file system, which nobody else sees.
const inNamespace = "WAVETANK_TEST_NAMESPACE"

const cannotMount = "cannot mount: "

// A coordinator whose disk is full says so, and goes on where it was once there is room; the machines wait for it.
func TestAFullDiskAtTheCoordinator(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		t.Parallel()
		self := exec.Command(os.Args[0], "-test.run=^TestAFullDiskAtTheCoordinator$", "-test.v")
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

	const runs = 31
	spec := finding(runs)
	spec.Drawn.Presets, spec.Drawn.Sets = []string{plans.PresetHardened}, spec.Drawn.Sets[:3] // it finds nothing
	want := alone(t, spec)
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=16k"); err != nil {
		t.Fatal(cannotMount, err)
	}
	defer func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) }()
	dir := filepath.Join(disk, "campaign")
	require.NoError(t, campaign.Create(dir, spec))
	s := startServer(t, nil)
	process(t, asMachine, s.url())
	_, err := coordinated(t, dir, &Coordinator{Server: Server{URL: s.url()}, Chunk: 4})
	require.EqualError(t, err, filepath.Join(dir, campaign.JournalFile)+" cannot be written: no space left on device; make room and try again: what was finished is kept")
	before := done(t, dir)
	assert.Positive(t, before)
	assert.Less(t, before, runs)

	require.NoError(t, syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=16m"))
	_, err = coordinated(t, dir, &Coordinator{Server: Server{URL: s.url()}, Chunk: 4})
	require.NoError(t, err)
	assert.Equal(t, want, resultOf(t, dir))
	nothingLeft(t, s)
}
