package sim

import (
	"context"
	"errors"
	"strings"
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
	op.copied = func() send { return copyOf(m, opts) }
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
	looks := strings.HasPrefix(name, "Get") || strings.HasSuffix(name, "Info")
	op := &Op{Kind: KindAPI, Name: name, Target: target, Tags: w.tags(ctx), Write: !looks}
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

func (g *gatedJetStream) DeleteStream(ctx context.Context, name string) error {
	_, err := api(ctx, g.p, "DeleteStream", name, func() (struct{}, error) { return struct{}{}, g.JetStream.DeleteStream(ctx, name) })
	return err
}

func (g *gatedJetStream) StreamNameBySubject(ctx context.Context, subject string) (string, error) {
	return api(ctx, g.p, "StreamNameBySubject", subject, func() (string, error) { return g.JetStream.StreamNameBySubject(ctx, subject) })
}

func (g *gatedJetStream) AccountInfo(ctx context.Context) (*jetstream.AccountInfo, error) {
	return api(ctx, g.p, "AccountInfo", "", func() (*jetstream.AccountInfo, error) { return g.JetStream.AccountInfo(ctx) })
}

func (g *gatedJetStream) PauseConsumer(ctx context.Context, stream, name string, until time.Time) (*jetstream.ConsumerPauseResponse, error) {
	return api(ctx, g.p, "PauseConsumer", stream+"/"+name, func() (*jetstream.ConsumerPauseResponse, error) {
		return g.JetStream.PauseConsumer(ctx, stream, name, until)
	})
}

func (g *gatedJetStream) ResumeConsumer(ctx context.Context, stream, name string) (*jetstream.ConsumerPauseResponse, error) {
	return api(ctx, g.p, "ResumeConsumer", stream+"/"+name, func() (*jetstream.ConsumerPauseResponse, error) {
		return g.JetStream.ResumeConsumer(ctx, stream, name)
	})
}

func (g *gatedJetStream) UpdatePushConsumer(context.Context, string, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
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
