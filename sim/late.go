package sim

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Late holds an operation up on its way: its caller is given up to, and d later it has its effect, as a
// step of its own ([KindLate]) that is its sender's, whether that still lives or not. An Intercept that
// has called it, with the effect that it was given, returns a timeout. then is called at that step; it
// may be nil.
//
// A Redis command is held back on its connection, which nobody uses any more: an EXEC meets what its
// connection has WATCHed. A publish that takes too long is the server's to store; it passes no other on
// its way. Late returns false for other kinds of operation, and for one that did not set out.
func (op *Op) Late(d time.Duration, apply func() error, then func()) bool {
	w := op.world
	late := &Op{
		Kind: KindLate, Name: cmp.Or(op.Name, string(op.Kind)), Target: op.Target, Tags: op.Tags, Write: op.Write, Occurrence: op.Occurrence,
		sender: op.process, ready: w.Now() + d, touched: op.touched, ttls: op.ttls, fault: op.fault, applied: true,
	}
	var arrive func() string // its outcome
	switch op.Kind {
	case KindRedis:
		h := w.hold(op, apply)
		if h.wire == nil {
			return false
		}
		arrive = h.arrive
	case KindPublish:
		publish := op.copied()
		arrive = func() string {
			ctx, cancel := context.WithTimeout(context.Background(), jetstreamTimeout)
			defer cancel()
			return outcome(publish(ctx, w.adminJS))
		}
	default:
		return false
	}
	late.fire = func() {
		late.outcome = arrive()
		late.refused = late.outcome != OutcomeOK && late.Name != "pipeline" // of which the last answer is not all
		if then != nil {
			then()
		}
	}
	w.enqueue(late)
	return true
}

// jetstreamTimeout is how long the client library waits for an answer where its caller sets no limit.
const jetstreamTimeout = 5 * time.Second

// send publishes a message.
type send func(context.Context, jetstream.JetStream) error

// copyOf copies m, which stays its caller's.
func copyOf(m *nats.Msg, opts []jetstream.PublishOpt) send {
	c := &nats.Msg{Subject: m.Subject, Reply: m.Reply, Header: maps.Clone(m.Header), Data: slices.Clone(m.Data)}
	opts = slices.Clone(opts)
	return func(ctx context.Context, js jetstream.JetStream) error {
		_, err := js.PublishMsg(ctx, c, opts...)
		return err
	}
}

// held is what an actor has written to Redis and Redis has not seen.
type held struct {
	command string // the first, in lower case
	replies int    // that all of them get
	wire    *wire  // nil if nothing was written
	bytes   []byte
}

// hold holds back the commands that op's effect writes. Its caller is told of a timeout, and gives the
// connection up.
func (w *World) hold(op *Op, apply func() error) *held {
	h := &held{command: strings.ToLower(text(op.args[0])), replies: op.replies}
	set := func(to *held) {
		w.mu.Lock()
		op.process.holding = to
		w.mu.Unlock()
	}
	set(h)
	_ = apply()
	set(nil)
	op.applied = false // yet
	return h
}

// arrive hands Redis what was held back, and returns what it answers to the last command.
func (h *held) arrive() string {
	conn := h.wire.Conn
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Time{}) // the sender's has passed
	go func() { _, _ = conn.Write(h.bytes) }()
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

// wire is a process's connection to Redis. What is held back on it reaches Redis later, or never; the
// process hears nothing more from it.
type wire struct {
	net.Conn
	p    *Process
	held *held // guarded by World.mu
}

func (c *wire) holds(b []byte) bool {
	w := c.p.node.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := c.p.holding; c.held == nil && h != nil && h.wire == nil && firstCommand(b) == h.command {
		c.held, h.wire = h, c
		w.late = append(w.late, c.Conn)
	}
	if c.held == nil {
		return false
	}
	c.held.bytes = append(c.held.bytes, b...)
	return true
}

// firstCommand reads the name of the command that b begins with. The commands that set a connection up
// come first on it, and are no part of the operation.
func firstCommand(b []byte) string {
	fields := bytes.SplitN(b, []byte("\r\n"), 4)
	if len(fields) < 3 {
		return ""
	}
	return strings.ToLower(string(fields[2]))
}

func (c *wire) Write(b []byte) (int, error) {
	if c.holds(b) {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *wire) Read(b []byte) (int, error) {
	if c.given() {
		return 0, os.ErrDeadlineExceeded
	}
	return c.Conn.Read(b)
}

// Close leaves a connection open on which something is under way.
func (c *wire) Close() error {
	if c.given() {
		return nil
	}
	return c.Conn.Close()
}

func (c *wire) given() bool {
	w := c.p.node.world
	w.mu.Lock()
	defer w.mu.Unlock()
	return c.held != nil
}
