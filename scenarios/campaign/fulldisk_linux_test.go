package campaign

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inNamespace is set in a process that may mount a file system, which nobody else sees.
const inNamespace = "WAVETANK_TEST_NAMESPACE"

func TestAFullDisk(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		t.Parallel()
		self := exec.Command(os.Args[0], "-test.run=^TestAFullDisk$", "-test.v")
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

	spec := small(20)
	want := undisturbed(t, spec)
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=16k"); err != nil {
		t.Fatal(cannotMount, err)
	}
	defer func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) }()
	dir := filepath.Join(disk, "campaign")
	require.NoError(t, Create(dir, spec))
	_, err := Run(context.Background(), dir, quick(2, ""))
	require.EqualError(t, err, filepath.Join(dir, JournalFile)+" cannot be written: no space left on device; make room and try again: what was finished is kept")
	finished, err := os.ReadFile(filepath.Join(dir, JournalFile))
	require.NoError(t, err)
	assert.Greater(t, strings.Count(string(finished), "\n"), 5)

	require.NoError(t, syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=16m"))
	_, text := ran(t, dir, quick(2, ""))
	assert.Equal(t, want, text)
	all, err := os.ReadFile(filepath.Join(dir, JournalFile))
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(all), string(finished)), "nothing that was finished is lost")
	journaled(t, dir, 20)

	require.NoError(t, os.WriteFile(filepath.Join(disk, "filler"), make([]byte, 15<<20), 0o644))
	for err = nil; err == nil; {
		err = os.WriteFile(filepath.Join(disk, "filler-2"), make([]byte, 1<<20), 0o644)
	}
	err = Create(filepath.Join(disk, "another"), spec)
	require.EqualError(t, err, filepath.Join(disk, "another", SpecFile)+" cannot be written: no space left on device; make room and try again: what was finished is kept")
}

const cannotMount = "cannot mount: "
