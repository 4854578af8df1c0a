package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrUngated is returned by the calls of the jetstream API that work in the background, out of the
// stepper's sight. Consume with Fetch, FetchNoWait or Next; publish with Publish or PublishMsg.
var ErrUngated = errors.New("sim: this call works in the background, where a world cannot step it; use Fetch, FetchNoWait, Next, Publish or PublishMsg")

// JetStream is the process's gated JetStream context.
func (p *Process) JetStream() jetstream.JetStream {
	return &gatedJetStream{JetStream: p.js, p: p}
}

type gatedJetStream struct {
	jetstream.JetStream
	p *Process
}

func (g *gatedJetStream) Publish(ctx context.Context, subject string, data []byte, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	return g.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: data}, opts...)
}

func (g *gatedJetStream) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (ack *jetstream.PubAck, err error) {
	w := g.p.node.world
	op := &Op{Kind: KindPublish, Target: m.Subject, Write: true, Tags: w.tags(ctx)}
	if op.Tags == (Tags{}) {
		op.Tags = w.msgTags(m.Subject, m.Header, m.Data)
	}
	err = g.p.do(ctx, op, func() error {
		ack, err = g.JetStream.PublishMsg(ctx, m, opts...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ack, nil
}

// api gates a management call.
func api[T any](ctx context.Context, p *Process, name, target string, call func() (T, error)) (out T, err error) {
	w := p.node.world
	op := &Op{Kind: KindAPI, Name: name, Target: target, Tags: w.tags(ctx), Write: true}
	err = p.do(ctx, op, func() error {
		out, err = call()
		return err
	})
	return out, err
}

func (g *gatedJetStream) stream(ctx context.Context, name, target string, call func() (jetstream.Stream, error)) (jetstream.Stream, error) {
	s, err := api(ctx, g.p, name, target, call)
	if err != nil {
		return nil, err
	}
	return &gatedStream{s, g.p}, nil
}

func (g *gatedJetStream) CreateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	return g.stream(ctx, "CreateStream", cfg.Name, func() (jetstream.Stream, error) { return g.JetStream.CreateStream(ctx, cfg) })
}

func (g *gatedJetStream) UpdateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	return g.stream(ctx, "UpdateStream", cfg.Name, func() (jetstream.Stream, error) { return g.JetStream.UpdateStream(ctx, cfg) })
}

func (g *gatedJetStream) CreateOrUpdateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	return g.stream(ctx, "CreateOrUpdateStream", cfg.Name, func() (jetstream.Stream, error) { return g.JetStream.CreateOrUpdateStream(ctx, cfg) })
}

func (g *gatedJetStream) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	return g.stream(ctx, "Stream", name, func() (jetstream.Stream, error) { return g.JetStream.Stream(ctx, name) })
}

// consumer gates a call that makes or finds a consumer, and what it returns.
func (p *Process) consumer(ctx context.Context, name, stream, durable string, call func() (jetstream.Consumer, error)) (jetstream.Consumer, error) {
	target := stream + "/" + durable
	c, err := api(ctx, p, name, target, call)
	if err != nil {
		return nil, err
	}
	return &gatedConsumer{c, p, target}, nil
}

func (g *gatedJetStream) CreateOrUpdateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return g.p.consumer(ctx, "CreateOrUpdateConsumer", stream, cfg.Durable, func() (jetstream.Consumer, error) {
		return g.JetStream.CreateOrUpdateConsumer(ctx, stream, cfg)
	})
}

func (g *gatedJetStream) CreateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return g.p.consumer(ctx, "CreateConsumer", stream, cfg.Durable, func() (jetstream.Consumer, error) {
		return g.JetStream.CreateConsumer(ctx, stream, cfg)
	})
}

func (g *gatedJetStream) UpdateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return g.p.consumer(ctx, "UpdateConsumer", stream, cfg.Durable, func() (jetstream.Consumer, error) {
		return g.JetStream.UpdateConsumer(ctx, stream, cfg)
	})
}

func (g *gatedJetStream) Consumer(ctx context.Context, stream, name string) (jetstream.Consumer, error) {
	return g.p.consumer(ctx, "Consumer", stream, name, func() (jetstream.Consumer, error) {
		return g.JetStream.Consumer(ctx, stream, name)
	})
}

func (g *gatedJetStream) DeleteConsumer(ctx context.Context, stream, name string) error {
	_, err := api(ctx, g.p, "DeleteConsumer", stream+"/"+name, func() (struct{}, error) {
		return struct{}{}, g.JetStream.DeleteConsumer(ctx, stream, name)
	})
	return err
}

func (g *gatedJetStream) PublishAsync(string, []byte, ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	return nil, ErrUngated
}

func (g *gatedJetStream) PublishMsgAsync(*nats.Msg, ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	return nil, ErrUngated
}

func (g *gatedJetStream) OrderedConsumer(context.Context, string, jetstream.OrderedConsumerConfig) (jetstream.Consumer, error) {
	return nil, ErrUngated
}

func (g *gatedJetStream) CreatePushConsumer(context.Context, string, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}

func (g *gatedJetStream) CreateOrUpdatePushConsumer(context.Context, string, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}

func (g *gatedJetStream) PushConsumer(context.Context, string, string) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}

func (g *gatedJetStream) CreateKeyValue(context.Context, jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	return nil, ErrUngated
}

func (g *gatedJetStream) CreateOrUpdateKeyValue(context.Context, jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	return nil, ErrUngated
}

func (g *gatedJetStream) KeyValue(context.Context, string) (jetstream.KeyValue, error) {
	return nil, ErrUngated
}

func (g *gatedJetStream) CreateObjectStore(context.Context, jetstream.ObjectStoreConfig) (jetstream.ObjectStore, error) {
	return nil, ErrUngated
}

func (g *gatedJetStream) ObjectStore(context.Context, string) (jetstream.ObjectStore, error) {
	return nil, ErrUngated
}

type gatedStream struct {
	jetstream.Stream
	p *Process
}

func (s *gatedStream) name() string { return s.CachedInfo().Config.Name }

func (s *gatedStream) Info(ctx context.Context, opts ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	return api(ctx, s.p, "StreamInfo", s.name(), func() (*jetstream.StreamInfo, error) { return s.Stream.Info(ctx, opts...) })
}

func (s *gatedStream) GetMsg(ctx context.Context, seq uint64, opts ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	return api(ctx, s.p, "GetMsg", fmt.Sprintf("%s/%d", s.name(), seq), func() (*jetstream.RawStreamMsg, error) { return s.Stream.GetMsg(ctx, seq, opts...) })
}

func (s *gatedStream) GetLastMsgForSubject(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	return api(ctx, s.p, "GetLastMsgForSubject", s.name()+"/"+subject, func() (*jetstream.RawStreamMsg, error) {
		return s.Stream.GetLastMsgForSubject(ctx, subject)
	})
}

func (s *gatedStream) Consumer(ctx context.Context, name string) (jetstream.Consumer, error) {
	return s.p.consumer(ctx, "Consumer", s.name(), name, func() (jetstream.Consumer, error) { return s.Stream.Consumer(ctx, name) })
}

func (s *gatedStream) CreateOrUpdateConsumer(ctx context.Context, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return s.p.consumer(ctx, "CreateOrUpdateConsumer", s.name(), cfg.Durable, func() (jetstream.Consumer, error) {
		return s.Stream.CreateOrUpdateConsumer(ctx, cfg)
	})
}

func (s *gatedStream) CreateConsumer(ctx context.Context, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return s.p.consumer(ctx, "CreateConsumer", s.name(), cfg.Durable, func() (jetstream.Consumer, error) {
		return s.Stream.CreateConsumer(ctx, cfg)
	})
}

func (s *gatedStream) OrderedConsumer(context.Context, jetstream.OrderedConsumerConfig) (jetstream.Consumer, error) {
	return nil, ErrUngated
}

type gatedConsumer struct {
	jetstream.Consumer
	p      *Process
	target string // stream/durable
}

// gatedBatch hands out messages one step each, as they come.
type gatedBatch struct {
	messages chan jetstream.Msg
	err      error
}

func (b *gatedBatch) Messages() <-chan jetstream.Msg { return b.messages }

func (b *gatedBatch) Error() error { return b.err }

func (c *gatedConsumer) Fetch(n int, opts ...jetstream.FetchOpt) (jetstream.MessageBatch, error) {
	return c.fetch(n, func() (jetstream.MessageBatch, error) { return c.Consumer.Fetch(n, opts...) })
}

func (c *gatedConsumer) FetchNoWait(n int) (jetstream.MessageBatch, error) {
	return c.fetch(n, func() (jetstream.MessageBatch, error) { return c.Consumer.FetchNoWait(n) })
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

// forward hands over what the server sends, each message through a gate of its own; so does the
// end of a pull that expired. A batch that is full ends with its last message. The channel closes
// with the process, too, so that an actor who waits for it reaches the end of its own code.
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
		g := &gatedMsg{Msg: m, p: c.p}
		lost := true
		err := g.do(c.p.ctx, KindDeliver, false, func() error { lost = false; return nil })
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
	if b.Error() != nil {
		return nil, b.Error()
	}
	return nil, nats.ErrTimeout
}

func (c *gatedConsumer) FetchBytes(int, ...jetstream.FetchOpt) (jetstream.MessageBatch, error) {
	return nil, ErrUngated
}

func (c *gatedConsumer) Consume(jetstream.MessageHandler, ...jetstream.PullConsumeOpt) (jetstream.ConsumeContext, error) {
	return nil, ErrUngated
}

func (c *gatedConsumer) Messages(...jetstream.PullMessagesOpt) (jetstream.MessagesContext, error) {
	return nil, ErrUngated
}

func (c *gatedConsumer) Info(ctx context.Context) (*jetstream.ConsumerInfo, error) {
	return api(ctx, c.p, "ConsumerInfo", c.target, func() (*jetstream.ConsumerInfo, error) { return c.Consumer.Info(ctx) })
}

type gatedMsg struct {
	jetstream.Msg
	p *Process
}

// do gates one thing done with a message. Its phase is that of the message with the kind behind
// it, as in submit_ack.
func (m *gatedMsg) do(ctx context.Context, kind Kind, write bool, apply func() error) error {
	w := m.p.node.world
	op := &Op{Kind: kind, Target: m.Subject(), Write: write, Tags: w.msgTags(m.Subject(), m.Headers(), m.Data())}
	if op.Phase != "" {
		op.Phase += "_" + string(kind)
	}
	if md, err := m.Metadata(); err == nil {
		op.Seq, op.Delivered = md.Sequence.Stream, md.NumDelivered
	}
	return m.p.do(ctx, op, apply)
}

func (m *gatedMsg) Ack() error { return m.do(m.p.ctx, KindAck, true, m.Msg.Ack) }

func (m *gatedMsg) DoubleAck(ctx context.Context) error {
	return m.do(ctx, KindAck, true, func() error { return m.Msg.DoubleAck(ctx) })
}

func (m *gatedMsg) Nak() error { return m.do(m.p.ctx, KindNak, true, m.Msg.Nak) }

func (m *gatedMsg) NakWithDelay(d time.Duration) error {
	return m.do(m.p.ctx, KindNak, true, func() error { return m.Msg.NakWithDelay(d) })
}

func (m *gatedMsg) InProgress() error { return m.do(m.p.ctx, KindProgress, true, m.Msg.InProgress) }

func (m *gatedMsg) Term() error { return m.do(m.p.ctx, KindTerm, true, m.Msg.Term) }

func (m *gatedMsg) TermWithReason(reason string) error {
	return m.do(m.p.ctx, KindTerm, true, func() error { return m.Msg.TermWithReason(reason) })
}
