package namespace

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Network is the network of a test. Machines are plugged into it, and the test has an address for each.
type Network struct{ machines int }

// WithNetwork runs the rest of the test t in a network of its own. It skips the test if there can be none:
// the kernel may lack veth, or the system may lack ip of iproute2 or nsenter of util-linux.
func WithNetwork(t *testing.T, rest func(n *Network)) {
	t.Helper()
	var n Network
	try := func() error {
		if err := output("ip", "link", "set", "lo", "up"); err != nil {
			return err
		}
		machine := exec.Command("sleep", "60")
		_, err := n.Plug(machine)
		if machine.Process != nil {
			_ = machine.Process.Kill()
			_ = machine.Wait()
		}
		return err
	}
	run(t, syscall.CLONE_NEWNET, try, func() { rest(&n) })
}

// Next is the test's address for the machine that is plugged in next.
func (n *Network) Next() string { return fmt.Sprintf("10.0.%d.1", n.machines+1) }

// Plug starts a command in a network namespace of its own. Once plugged in, the command can reach only the
// test, at the address of [Network.Next]. Its cable disappears with it.
func (n *Network) Plug(cmd *exec.Cmd) (Cable, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	here := n.Next()
	n.machines++
	c := Cable("machine-" + strconv.Itoa(n.machines))
	if err := cmd.Start(); err != nil {
		return c, err
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	for _, command := range [][]string{
		{"ip", "link", "add", string(c), "type", "veth", "peer", "name", "eth0", "netns", pid},
		{"ip", "addr", "add", here + "/24", "dev", string(c)},
		{"nsenter", "-t", pid, "-n", "ip", "addr", "add", fmt.Sprintf("10.0.%d.2/24", n.machines), "dev", "eth0"},
		{"nsenter", "-t", pid, "-n", "ip", "link", "set", "eth0", "up"},
	} {
		if err := output(command...); err != nil {
			return c, err
		}
	}
	return c, c.Mend()
}

// Cable is a machine's connection, named by its end on the test's side.
type Cable string

// Cut cuts the cable. The connections of neither side are told.
func (c Cable) Cut() error { return output("ip", "link", "set", string(c), "down") }

// Mend restores the cable.
func (c Cable) Mend() error { return output("ip", "link", "set", string(c), "up") }

// output runs a command. Its error includes the command's output.
func output(command ...string) error {
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w %s", strings.Join(command, " "), err, out)
	}
	return nil
}
