package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
)

// child is a process of this program that is asked things in JSON on its standard input, and answers on its standard output.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	asks    *json.Encoder
	answers *json.Decoder
	errors  head
}

// startChild starts one with that GOMAXPROCS, those arguments and more of an environment.
func startChild(ctx context.Context, procs int, args []string, env ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, self, args...)}
	c.cmd.Args[0] = os.Args[0] // what it writes names the command as the user called it
	c.cmd.Env = append(append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", procs)), env...)
	c.cmd.Stderr = &c.errors
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.asks, c.answers = json.NewEncoder(c.in), json.NewDecoder(out)
	return c, c.cmd.Start()
}

// ask has the child answer.
func (c *child) ask(who string, question, answer any) error {
	err := c.asks.Encode(question)
	if err == nil {
		err = c.answers.Decode(answer)
	}
	if err != nil {
		return c.died(who, err)
	}
	return nil
}

// died says how the child ended that should have answered.
func (c *child) died(who string, err error) error {
	_ = c.in.Close()
	if wait := c.cmd.Wait(); wait != nil {
		err = wait
	}
	return &cli.Error{Code: cli.ExitInternal, Text: fmt.Sprintf("%s ended: %v", who, err), Detail: c.errors.String()}
}

func (c *child) stop() {
	_ = c.in.Close()
	_ = c.cmd.Wait()
}

// head keeps the beginning of what a process says on its standard error, where a panic's cause is.
type head struct {
	mu   sync.Mutex
	text strings.Builder
}

const headBytesMax = 16 << 10

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Write(p[:min(len(p), headBytesMax-min(h.text.Len(), headBytesMax))])
	return len(p), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.TrimRight(h.text.String(), "\n")
}
