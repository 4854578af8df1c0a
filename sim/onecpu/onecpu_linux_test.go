package onecpu

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const servers = "WAVETANK_TEST_SERVER" // the process with which the test's child shares a processor

// A process that runs on one processor at a time keeps its server beside itself. Two such processes do not take the same one, and
// one that runs on several takes none.
func TestAServerStaysBesideItsProcess(t *testing.T) {
	if of := os.Getenv(servers); of != "" {
		pid, err := strconv.Atoi(of)
		require.NoError(t, err)
		Share(pid)
		assert.Equal(t, on(t, 0), on(t, pid))
		if os.Getenv("GOMAXPROCS") == "1" && ownCPU() != nil { // nil: others have them all
			assert.Equal(t, 1, on(t, 0).Count())
		}
		return
	}
	if on(t, 0).Count() < 2 {
		t.Skip("this machine has one processor")
	}
	server := exec.Command("sleep", "60")
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	for _, procs := range []string{"2", "1"} {
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), "GOMAXPROCS="+procs, servers+"="+strconv.Itoa(server.Process.Pid))
		said, err := child.CombinedOutput()
		require.NoError(t, err, "%s", said)
		if procs == "2" {
			assert.Equal(t, on(t, 0), on(t, server.Process.Pid))
		}
	}
	assert.LessOrEqual(t, on(t, server.Process.Pid).Count(), on(t, 0).Count())

	const cpu = 1 << 20 // no machine has so many
	takeCPU(cpu)
	assert.False(t, takeCPU(cpu), "it is taken")
}

// on is where a process may run.
func on(t *testing.T, pid int) *unix.CPUSet {
	t.Helper()
	var set unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(pid, &set))
	return &set
}
