package sim

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// JetStream is the process's gated JetStream context.
func (p *Process) JetStream() jetstream.JetStream {
	return &gatedJetStream{js: find[*natsClient](p.clients).js, p: p}
}

// gatedJetStream is a process's view of JetStream. Its embedded interface is nil, as in the other views, so a
// method that is not gated here cannot reach the server.
type gatedJetStream struct {
	jetstream.JetStream
	js jetstream.JetStream
	p  *Process
}

func (g *gatedJetStream) Publish(ctx context.Context, subject string, data []byte, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	return g.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: data}, opts...)
}

func (g *gatedJetStream) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (ack *jetstream.PubAck, err error) {
	w := g.p.node.world
	op := &Op{Kind: KindPublish, Target: m.Subject, Write: true, Tags: w.cfg.Tags(ctx), call: &publishCall{m, opts}}
	if op.Tags == (Tags{}) {
		op.Tags = w.cfg.MsgTags(m.Subject, m.Header, m.Data)
	}
	err = g.p.do(ctx, op, func() error {
		ack, err = g.js.PublishMsg(ctx, m, opts...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ack, nil
}

// publishCall is the message of a JetStream publish.
type publishCall struct {
	msg  *nats.Msg
	opts []jetstream.PublishOpt
}

func (c *publishCall) compare(other call) int {
	o, _ := other.(*publishCall)
	return compareMessages(c.msg, o.msg)
}

// timeout is how long the client library waits for an answer if its caller sets no limit.
const timeout = 5 * time.Second

// hold publishes the message when the operation arrives.
func (c *publishCall) hold(op *Op, _ func() error) func() string {
	m := copyOf(c.msg)
	opts := slices.Clone(c.opts)
	return func() string {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		_, err := op.world.JetStream().PublishMsg(ctx, m, opts...)
		return outcome(err)
	}
}

// stream gates a call that makes or finds a stream, and the stream that it returns.
func (g *gatedJetStream) stream(ctx context.Context, name, target string, call func() (jetstream.Stream, error)) (jetstream.Stream, error) {
	s, err := api(ctx, g.p, name, target, call)
	if err != nil {
		return nil, err
	}
	return &gatedStream{stream: s, js: g}, nil
}

func (g *gatedJetStream) CreateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	return g.stream(ctx, "CreateStream", cfg.Name, func() (jetstream.Stream, error) { return g.js.CreateStream(ctx, cfg) })
}

func (g *gatedJetStream) UpdateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	return g.stream(ctx, "UpdateStream", cfg.Name, func() (jetstream.Stream, error) { return g.js.UpdateStream(ctx, cfg) })
}

func (g *gatedJetStream) CreateOrUpdateStream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	return g.stream(ctx, "CreateOrUpdateStream", cfg.Name, func() (jetstream.Stream, error) { return g.js.CreateOrUpdateStream(ctx, cfg) })
}

func (g *gatedJetStream) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	return g.stream(ctx, "Stream", name, func() (jetstream.Stream, error) { return g.js.Stream(ctx, name) })
}

// consumer gates a call that makes or finds a consumer, and the consumer that it returns.
func (g *gatedJetStream) consumer(ctx context.Context, name, stream, durable string, call func() (jetstream.Consumer, error)) (jetstream.Consumer, error) {
	target := stream + "/" + durable
	c, err := api(ctx, g.p, name, target, call)
	if err != nil {
		return nil, err
	}
	return &gatedConsumer{consumer: c, p: g.p, target: target}, nil
}

func (g *gatedJetStream) CreateOrUpdateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return g.consumer(ctx, "CreateOrUpdateConsumer", stream, cmp.Or(cfg.Durable, cfg.Name), func() (jetstream.Consumer, error) { return g.js.CreateOrUpdateConsumer(ctx, stream, cfg) })
}

func (g *gatedJetStream) CreateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return g.consumer(ctx, "CreateConsumer", stream, cmp.Or(cfg.Durable, cfg.Name), func() (jetstream.Consumer, error) { return g.js.CreateConsumer(ctx, stream, cfg) })
}

func (g *gatedJetStream) UpdateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return g.consumer(ctx, "UpdateConsumer", stream, cmp.Or(cfg.Durable, cfg.Name), func() (jetstream.Consumer, error) { return g.js.UpdateConsumer(ctx, stream, cfg) })
}

func (g *gatedJetStream) Consumer(ctx context.Context, stream, name string) (jetstream.Consumer, error) {
	return g.consumer(ctx, "Consumer", stream, name, func() (jetstream.Consumer, error) { return g.js.Consumer(ctx, stream, name) })
}

func (g *gatedJetStream) DeleteConsumer(ctx context.Context, stream, name string) error {
	return act(ctx, g.p, "DeleteConsumer", stream+"/"+name, func() error { return g.js.DeleteConsumer(ctx, stream, name) })
}

func (g *gatedJetStream) DeleteStream(ctx context.Context, name string) error {
	return act(ctx, g.p, "DeleteStream", name, func() error { return g.js.DeleteStream(ctx, name) })
}

func (g *gatedJetStream) StreamNameBySubject(ctx context.Context, subject string) (string, error) {
	return api(ctx, g.p, "StreamNameBySubject", subject, func() (string, error) { return g.js.StreamNameBySubject(ctx, subject) })
}

func (g *gatedJetStream) AccountInfo(ctx context.Context) (*jetstream.AccountInfo, error) {
	return api(ctx, g.p, "AccountInfo", "", func() (*jetstream.AccountInfo, error) { return g.js.AccountInfo(ctx) })
}

func (g *gatedJetStream) PauseConsumer(ctx context.Context, stream, name string, until time.Time) (*jetstream.ConsumerPauseResponse, error) {
	return api(ctx, g.p, "PauseConsumer", stream+"/"+name, func() (*jetstream.ConsumerPauseResponse, error) {
		return g.js.PauseConsumer(ctx, stream, name, until)
	})
}

func (g *gatedJetStream) ResumeConsumer(ctx context.Context, stream, name string) (*jetstream.ConsumerPauseResponse, error) {
	return api(ctx, g.p, "ResumeConsumer", stream+"/"+name, func() (*jetstream.ConsumerPauseResponse, error) { return g.js.ResumeConsumer(ctx, stream, name) })
}

func (g *gatedJetStream) ResetConsumer(ctx context.Context, stream, name string) (*jetstream.ConsumerResetResponse, error) {
	return api(ctx, g.p, "ResetConsumer", stream+"/"+name, func() (*jetstream.ConsumerResetResponse, error) { return g.js.ResetConsumer(ctx, stream, name) })
}

func (g *gatedJetStream) ResetConsumerToSequence(ctx context.Context, stream, name string, seq uint64) (*jetstream.ConsumerResetResponse, error) {
	return api(ctx, g.p, "ResetConsumerToSequence", stream+"/"+name, func() (*jetstream.ConsumerResetResponse, error) {
		return g.js.ResetConsumerToSequence(ctx, stream, name, seq)
	})
}

func (g *gatedJetStream) ListStreams(ctx context.Context, opts ...jetstream.StreamListOpt) jetstream.StreamInfoLister {
	return listing(ctx, g.p, "ListStreams", "", func(i *jetstream.StreamInfo) string { return i.Config.Name }, func() (<-chan *jetstream.StreamInfo, func() error) {
		l := g.js.ListStreams(ctx, opts...)
		return l.Info(), l.Err
	})
}

func (g *gatedJetStream) StreamNames(ctx context.Context, opts ...jetstream.StreamListOpt) jetstream.StreamNameLister {
	return listing(ctx, g.p, "StreamNames", "", itself, func() (<-chan string, func() error) {
		l := g.js.StreamNames(ctx, opts...)
		return l.Name(), l.Err
	})
}

// Conn returns a closed connection that knows what nats-server has said of itself, such as MaxPayload. The
// process's own connection would send without a step.
func (g *gatedJetStream) Conn() *nats.Conn { return find[*natsServer](g.p.node.world.servers).closed }

// Options returns the client's options.
func (g *gatedJetStream) Options() jetstream.JetStreamOptions { return g.js.Options() }
