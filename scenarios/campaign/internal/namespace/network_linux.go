package namespace

import (
	"fmt"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Network is the network of this test, to which those of machines are plugged. Each has an address of its own here.
type Network struct {
	t        *testing.T
	machines int
}

// WithNetwork runs the rest of the test t in a network of its own. It skips a test that can have none, as where there is no ip of
// iproute2.
func WithNetwork(t *testing.T, rest func(n *Network)) {
	t.Helper()
	run(t, syscall.CLONE_NEWNET, func() {
		if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
			t.Fatal(cannot, err, string(out))
		}
		rest(&Network{t: t})
	})
}

// Next is the address of this side under which the machine that is plugged next can reach it.
func (n *Network) Next() string { return fmt.Sprintf("10.0.%d.1", n.machines+1) }

// Plug starts a command in a network namespace of its own, from which it can reach nothing but this side, under the address of
// [Network.Next], once it is plugged. Its cable goes with it.
func (n *Network) Plug(cmd *exec.Cmd) *Cable {
	n.t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	here := n.Next()
	n.machines++
	require.NoError(n.t, cmd.Start())
	c := &Cable{n.t, "machine-" + strconv.Itoa(n.machines)}
	pid := strconv.Itoa(cmd.Process.Pid)
	run := func(name string, args ...string) {
		out, err := exec.Command(name, args...).CombinedOutput()
		require.NoError(n.t, err, string(out))
	}
	inside := func(args ...string) { run("nsenter", append([]string{"-t", pid, "-n", "ip"}, args...)...) }
	run("ip", "link", "add", c.name, "type", "veth", "peer", "name", "eth0", "netns", pid)
	run("ip", "addr", "add", here+"/24", "dev", c.name)
	inside("addr", "add", fmt.Sprintf("10.0.%d.2/24", n.machines), "dev", "eth0")
	inside("link", "set", "eth0", "up")
	c.Set("up")
	return c
}

// Cable is what a machine hangs on.
type Cable struct {
	t    *testing.T
	name string
}

// Set cuts the cable (down), which neither side is told of, or mends it (up).
func (c *Cable) Set(to string) {
	c.t.Helper()
	out, err := exec.Command("ip", "link", "set", c.name, to).CombinedOutput()
	assert.NoError(c.t, err, string(out))
}
