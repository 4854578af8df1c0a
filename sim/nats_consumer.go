package sim

import (
	"cmp"
	"context"
	"slices"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// gatedConsumer is a process's view of one pull consumer.
type gatedConsumer struct {
	jetstream.Consumer
	consumer jetstream.Consumer
	p        *Process
	target   string // stream/durable
}

// gatedBatch hands out the messages of a pull, each in a step of its own.
type gatedBatch struct {
	messages chan jetstream.Msg
	err      error
}

func (b *gatedBatch) Messages() <-chan jetstream.Msg { return b.messages }

func (b *gatedBatch) Error() error { return b.err }

func (c *gatedConsumer) Fetch(n int, opts ...jetstream.FetchOpt) (jetstream.MessageBatch, error) {
	return c.fetch(n, func() (jetstream.MessageBatch, error) { return c.consumer.Fetch(n, opts...) })
}

func (c *gatedConsumer) FetchNoWait(n int) (jetstream.MessageBatch, error) {
	return c.fetch(n, func() (jetstream.MessageBatch, error) { return c.consumer.FetchNoWait(n) })
}

func (c *gatedConsumer) fetch(n int, pull func() (jetstream.MessageBatch, error)) (jetstream.MessageBatch, error) {
	var inner jetstream.MessageBatch
	op := &Op{Kind: KindFetch, Target: c.target}
	err := c.p.do(c.p.ctx, op, func() (err error) {
		inner, err = pull()
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &gatedBatch{messages: make(chan jetstream.Msg, n)}
	if inner == nil { // the request was lost on the way
		close(out.messages)
		return out, nil
	}
	go c.forward(inner, out, n)
	return out, nil
}

// forward hands over what the server sends, each message through a gate of its own. The end of a pull that
// expired passes a gate, too. A batch that is full ends with its last message. The channel also closes with
// the process, so that an actor that waits for it reaches the end of its own code.
func (c *gatedConsumer) forward(inner jetstream.MessageBatch, out *gatedBatch, n int) {
	defer close(out.messages)
	for got := 0; got < n; got++ {
		var m jetstream.Msg
		select {
		case m = <-inner.Messages():
		case <-c.p.ctx.Done():
			return
		}
		if m == nil {
			op := &Op{Kind: KindFetchEnd, Target: c.target}
			_ = c.p.do(c.p.ctx, op, func() error { return nil })
			out.err = inner.Error()
			break
		}
		g := &gatedMsg{msg: m, p: c.p, consumer: c.target}
		if !c.asksFor(m.Subject()) {
			g.by = c.target
		}
		lost := true
		err := g.do(c.p.ctx, KindDeliver, "", 0, func() error { lost = false; return nil })
		if err == nil && !lost {
			out.messages <- g
		}
	}
}

func (c *gatedConsumer) Next(opts ...jetstream.FetchOpt) (jetstream.Msg, error) {
	b, err := c.Fetch(1, opts...)
	if err != nil {
		return nil, err
	}
	if m, ok := <-b.Messages(); ok {
		return m, nil
	}
	return nil, cmp.Or(b.Error(), nats.ErrTimeout)
}

func (c *gatedConsumer) Info(ctx context.Context) (*jetstream.ConsumerInfo, error) {
	return api(ctx, c.p, "ConsumerInfo", c.target, func() (*jetstream.ConsumerInfo, error) { return c.consumer.Info(ctx) })
}

// CachedInfo is the latest information about the consumer that the process has.
func (c *gatedConsumer) CachedInfo() *jetstream.ConsumerInfo { return c.consumer.CachedInfo() }

// asksFor says whether a subject matches the consumer's filter.
func (c *gatedConsumer) asksFor(subject string) bool {
	cfg := c.consumer.CachedInfo().Config
	if cfg.FilterSubject != "" {
		return natsserver.SubjectMatchesFilter(subject, cfg.FilterSubject)
	}
	return len(cfg.FilterSubjects) == 0 ||
		slices.ContainsFunc(cfg.FilterSubjects, func(filter string) bool { return natsserver.SubjectMatchesFilter(subject, filter) })
}

type gatedMsg struct {
	jetstream.Msg
	msg       jetstream.Msg
	p         *Process
	consumer  string // stream/durable
	by        string // the consumer that handed it out, if the subject does not match its filter
	delivered int    // the step of the delivery
}

// Reading a message asks nothing of the server.
func (m *gatedMsg) Data() []byte                              { return m.msg.Data() }
func (m *gatedMsg) Headers() nats.Header                      { return m.msg.Headers() }
func (m *gatedMsg) Subject() string                           { return m.msg.Subject() }
func (m *gatedMsg) Reply() string                             { return m.msg.Reply() }
func (m *gatedMsg) Metadata() (*jetstream.MsgMetadata, error) { return m.msg.Metadata() }

// NameDoubleAck is the operation's name of an acknowledgement that waits for the server's answer.
const NameDoubleAck = "DoubleAck"

// do gates an acknowledgement of a message. Its phase is the message's phase followed by the kind, as in
// submit_ack. A message of another consumer has no tags, and the operation's name is then the consumer that
// handed it out. There are such messages: after a power loss nats-server may reuse a sequence, and it
// redelivers by sequence without regard to the subject.
func (m *gatedMsg) do(ctx context.Context, kind Kind, name string, delay time.Duration, apply func() error) error {
	op := &Op{Kind: kind, Name: cmp.Or(m.by, name), Target: m.Subject(), Write: kind != KindDeliver}
	op.Answers, op.Delay, op.consumer = m.delivered, delay, m.consumer
	if m.by == "" {
		op.Tags = m.p.node.world.cfg.MsgTags(m.Subject(), m.Headers(), m.Data())
	}
	if op.Phase != "" {
		op.Phase += "_" + string(kind)
	}
	if md, err := m.Metadata(); err == nil {
		op.Seq, op.Delivered = md.Sequence.Stream, md.NumDelivered
	}
	if kind == KindDeliver {
		op.redeliver = func() error { // as if another consumer's client had given it back
			return find[*natsServer](m.p.node.world.servers).admin.Publish(m.Reply(), []byte("-NAK"))
		}
	}
	err := m.p.do(ctx, op, apply)
	if kind == KindDeliver {
		m.delivered = op.step
	}
	return err
}

func (m *gatedMsg) Ack() error { return m.do(m.p.ctx, KindAck, "", 0, m.msg.Ack) }

func (m *gatedMsg) DoubleAck(ctx context.Context) error {
	return m.do(ctx, KindAck, NameDoubleAck, 0, func() error { return m.msg.DoubleAck(ctx) })
}

func (m *gatedMsg) Nak() error { return m.do(m.p.ctx, KindNak, "", 0, m.msg.Nak) }

func (m *gatedMsg) NakWithDelay(d time.Duration) error {
	return m.do(m.p.ctx, KindNak, "", d, func() error { return m.msg.NakWithDelay(d) })
}

func (m *gatedMsg) InProgress() error { return m.do(m.p.ctx, KindProgress, "", 0, m.msg.InProgress) }

func (m *gatedMsg) Term() error { return m.do(m.p.ctx, KindTerm, "", 0, m.msg.Term) }

func (m *gatedMsg) TermWithReason(reason string) error {
	return m.do(m.p.ctx, KindTerm, "", 0, func() error { return m.msg.TermWithReason(reason) })
}
