package sim

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
)

// held is what a process has written to Redis and Redis has not received.
type held struct {
	command string // the first command, in lower case
	replies int    // how many it gets
	wire    *wire  // nil if nothing was written
	bytes   []byte
}

// hold holds back the commands that op's effect writes. The caller gets a timeout, and gives the connection
// up.
func (c *redisCall) hold(op *Op, apply func() error) func() string {
	h := &held{command: strings.ToLower(text(c.args[0])), replies: c.replies}
	client := find[*redisClient](op.process.clients)
	client.holding.Store(h)
	_ = apply()
	client.holding.Store(nil)
	c.applied = false // yet
	if h.wire == nil {
		return nil
	}
	client.server.held = append(client.server.held, h.wire.Conn)
	return func() string {
		answer := h.arrive()
		c.applied, c.refused = !h.wire.dead(), answer != OutcomeOK && op.Name != namePipeline // the last answer of a pipeline does not tell for all
		return answer
	}
}

// Abort makes Redis refuse to queue the commands of a transaction, and therefore the transaction. apply is
// the operation's effect. An [Intercept] calls Abort.
func (op *Op) Abort(apply func() error) error {
	client := find[*redisClient](op.process.clients)
	client.aborts.Store(true)
	defer client.aborts.Store(false)
	return apply()
}

// arrive hands Redis what was held back, and returns the answer to the last command.
func (h *held) arrive() string {
	conn := h.wire.Conn
	defer func() { _ = conn.Close() }()
	if h.wire.dead() {
		return io.EOF.Error()
	}
	_ = conn.SetDeadline(time.Time{}) // the sender's deadline has passed
	if _, err := conn.Write(h.bytes); err != nil {
		return err.Error()
	}
	answers := bufio.NewReader(conn)
	last := ""
	for range h.replies {
		var err error
		if last, err = proto.Read(answers); err != nil {
			return err.Error()
		}
	}
	switch line, _, _ := strings.Cut(last, "\r\n"); {
	case strings.HasPrefix(line, "-"):
		return line[1:]
	case line == "*-1", line == "$-1":
		return OutcomeNil
	}
	return OutcomeOK
}

// wire is a process's connection to Redis. Data that is held back on it reaches Redis later or never, and the
// process hears nothing more on it.
//
// The process also hears nothing on a connection that was made before a failover, or before Redis died.
type wire struct {
	net.Conn
	client *redisClient
	born   int // how often Redis had gone by then
	held   atomic.Pointer[held]
}

func (c *wire) dead() bool { return c.born < c.client.server.gone }

// SyscallConn is go-redis's way to ask whether the server has closed a connection, before it takes the
// connection from its pool.
func (c *wire) SyscallConn() (syscall.RawConn, error) {
	if c.dead() {
		return nil, io.EOF
	}
	return asked{}, nil
}

// SetWriteDeadline does nothing: a write is taken at once ([pipe], [socket]).
func (c *wire) SetWriteDeadline(time.Time) error { return nil }

// asked is a connection on which nothing unexpected has come.
type asked struct{}

func (asked) Control(func(uintptr)) error    { return nil }
func (asked) Read(func(uintptr) bool) error  { return nil }
func (asked) Write(func(uintptr) bool) error { return nil }

func (c *wire) Write(b []byte) (int, error) {
	if subscribes(b) {
		return 0, c.client.refuse(firstCommand(b))
	}
	if c.dead() || c.holds(b) {
		return len(b), nil
	}
	c.client.sent.Store(true)
	return c.Conn.Write(b)
}

func (c *wire) holds(b []byte) bool {
	h := c.held.Load()
	if h == nil {
		if h = c.client.holding.Load(); h == nil || h.wire != nil || firstCommand(b) != h.command {
			return false
		}
		h.wire = c
		c.held.Store(h)
	}
	h.bytes = append(h.bytes, b...)
	return true
}

// refuse returns the error of a command that passes no gate. It also ends the run, since the caller may
// ignore the error that go-redis makes of it.
func (c *redisClient) refuse(name string) error {
	w := c.p.node.world
	c.deaf.Store(true)
	return w.fail(fmt.Errorf("%w: %s, of %s; use p.NATS(), or wrap what receives in p.Do", ErrUnknownCommand, name, c.p.node.name))
}

// subscribes says whether b begins with SUBSCRIBE or a related command, which go-redis writes without calling
// its hooks.
func subscribes(b []byte) bool {
	name := []byte("subscribe\r\n")
	return bytes.Contains(b[:min(len(b), len("*1234\r\n$12\r\npunsubscribe\r\n"))], name) && strings.HasSuffix(firstCommand(b), "subscribe")
}

// firstCommand returns the name of the command that b begins with, after those that set the connection up,
// which are no part of the operation.
func firstCommand(b []byte) string {
	fields := bytes.SplitN(b, []byte("\r\n"), 4)
	if len(fields) < 3 {
		return ""
	}
	return strings.ToLower(string(fields[2]))
}

func (c *wire) Read(b []byte) (int, error) {
	switch {
	case c.held.Load() != nil:
		return 0, os.ErrDeadlineExceeded
	case c.dead(), c.client.deaf.Load():
		return 0, io.EOF
	}
	return c.Conn.Read(b)
}

// Close leaves a connection open if something is under way on it.
func (c *wire) Close() error {
	if c.held.Load() != nil {
		return nil
	}
	return c.Conn.Close()
}
