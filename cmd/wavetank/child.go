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
	"time"

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
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Args[0] = os.Args[0] // what it writes names the command as the user called it
	cmd.Env = append(append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", procs)), env...)
	return childOf(cmd)
}

func childOf(cmd *exec.Cmd) (c *child, err error) {
	c = &child{cmd: cmd}
	cmd.Stderr = &c.errors
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
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

// seat has a child that is asked one thing after the other. One that dies over a question is started again once: somebody may
// have ended it, and not what it was asked.
type seat struct {
	start func() (*child, error)
	child *child
	limit time.Duration // after which a child without an answer is ended; 0 is never
}

// deadlyError is of a question over which two children died.
type deadlyError struct{ error }

func (s *seat) ask(ctx context.Context, who string, question, answer any) (err error) {
	for range 2 {
		if s.child == nil {
			if s.child, err = s.start(); err != nil {
				return err
			}
		}
		if err = s.asked(who, question, answer); err == nil {
			return nil
		}
		s.child = nil
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return &deadlyError{err}
}

// asked asks once, and ends a child that takes too long.
func (s *seat) asked(who string, question, answer any) error {
	if s.limit > 0 {
		process := s.child.cmd.Process
		defer time.AfterFunc(s.limit, func() { _ = process.Kill() }).Stop()
	}
	return s.child.ask(who, question, answer)
}

func (s *seat) stop() {
	if s.child != nil {
		s.child.stop()
	}
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
