package sim

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
)

// Conn is a process's core NATS connection: the part of *nats.Conn that a world can gate.
type Conn struct{ p *Process }

// NATS is the process's gated core connection.
func (p *Process) NATS() *Conn { return &Conn{p} }

// Publish sends data to the subscribers of subject. Nobody confirms a core publish.
func (c *Conn) Publish(subject string, data []byte) error {
	return c.PublishMsg(&nats.Msg{Subject: subject, Data: data})
}

// PublishMsg is Publish with headers.
func (c *Conn) PublishMsg(m *nats.Msg) error {
	w := c.p.node.world
	op := &Op{Kind: KindSend, Target: m.Subject, Write: true, Tags: w.cfg.MsgTags(m.Subject, m.Header, m.Data), call: sendCall{m}}
	return c.p.do(c.p.ctx, op, func() error {
		if w.cfg.Lag != nil {
			if lag := w.cfg.Lag(op); lag > 0 {
				m := copyOf(m)
				w.At(w.Now()+lag, "arrive", m.Subject, func() { find[*natsServer](w.servers).send(m) })
				return nil
			}
		}
		return find[*natsClient](c.p.clients).conn.PublishMsg(m)
	})
}

// sendCall is the message of a core publish.
type sendCall struct{ msg *nats.Msg }

func (c sendCall) compare(other call) int {
	o, _ := other.(sendCall)
	return compareMessages(c.msg, o.msg)
}

// copyOf copies a message that is sent: m itself stays its sender's.
func copyOf(m *nats.Msg) *nats.Msg {
	return &nats.Msg{Subject: m.Subject, Reply: m.Reply, Header: maps.Clone(m.Header), Data: slices.Clone(m.Data)}
}

// compareMessages orders messages of one subject.
func compareMessages(a, b *nats.Msg) int {
	return cmp.Or(bytes.Compare(a.Data, b.Data), strings.Compare(fmt.Sprint(a.Header), fmt.Sprint(b.Header)))
}

// send publishes a message that has left its sender.
func (s *natsServer) send(m *nats.Msg) {
	if s.admin.PublishMsg(m) == nil {
		_ = s.admin.Flush()
	}
}

// Subscribe calls cb for each message on subject, each call in a step of its own. A subscription keeps the
// order of its messages.
func (c *Conn) Subscribe(subject string, cb nats.MsgHandler) (*nats.Subscription, error) {
	w := c.p.node.world
	conn := find[*natsClient](c.p.clients).conn
	sub, err := conn.Subscribe(subject, func(m *nats.Msg) {
		op := &Op{Kind: KindReceive, Target: m.Subject, Message: Message{Data: string(m.Data)}, consumer: subject, Tags: w.cfg.MsgTags(m.Subject, m.Header, m.Data)}
		lost := true
		err := c.p.do(c.p.ctx, op, func() error { lost = false; return nil })
		if err == nil && !lost {
			cb(m)
		}
	})
	if err != nil {
		return nil, err
	}
	// The server must know of the subscription before the next step, or the subscription could miss a message.
	return sub, conn.Flush()
}
