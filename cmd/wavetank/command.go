package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
)

// failure is how a program ended that failed.
type failure struct {
	code int    // -1: a signal ended it
	said string // on standard error
}

func (f *failure) Error() string {
	if f.code < 0 {
		return firstOf(f.said, "a signal ended it")
	}
	return firstOf(f.said, fmt.Sprintf("exit status %d", f.code))
}

// firstOf is the first line that says anything, or other.
func firstOf(said, other string) string {
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "# ") {
			return cli.Visible(line, false)
		}
	}
	return other
}

// command runs a program in dir. It ends when the context does, and whatever it has started ends with it.
func command(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "NO_COLOR=1", "GITHUB_ACTIONS=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	group := func(signal syscall.Signal) error { return syscall.Kill(-cmd.Process.Pid, signal) }
	cmd.Cancel = func() error { return group(syscall.SIGINT) } // so that it cleans up
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		_ = group(syscall.SIGKILL) // what has not ended by itself
	}
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = &failure{exit.ExitCode(), stderr.String()}
	}
	return stdout.String(), err
}
