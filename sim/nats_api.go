package sim

import (
	"context"
	"errors"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// api gates a management call.
func api[T any](ctx context.Context, p *Process, name, target string, call func() (T, error)) (out T, err error) {
	w := p.node.world
	looks := strings.HasPrefix(name, "Get") || strings.HasSuffix(name, "Info")
	op := &Op{Kind: KindAPI, Name: name, Target: target, Tags: w.cfg.Tags(ctx), Write: !looks}
	err = p.do(ctx, op, func() error {
		out, err = call()
		return err
	})
	return out, err
}

// act gates a management call that returns an error only.
func act(ctx context.Context, p *Process, name, target string, call func() error) error {
	_, err := api(ctx, p, name, target, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// ErrUngated is returned by the calls of the jetstream API that work in the background, out of the
// stepper's sight. Consume with Fetch, FetchNoWait or Next; publish with Publish or PublishMsg.
var ErrUngated = errors.New("sim: this call works in the background, where a world cannot step it; use Fetch, FetchNoWait, Next, Publish or PublishMsg")

func (*gatedJetStream) UpdatePushConsumer(context.Context, string, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) PublishAsync(string, []byte, ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) PublishMsgAsync(*nats.Msg, ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) OrderedConsumer(context.Context, string, jetstream.OrderedConsumerConfig) (jetstream.Consumer, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) CreatePushConsumer(context.Context, string, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) CreateOrUpdatePushConsumer(context.Context, string, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) PushConsumer(context.Context, string, string) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) CreateKeyValue(context.Context, jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) CreateOrUpdateKeyValue(context.Context, jetstream.KeyValueConfig) (jetstream.KeyValue, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) KeyValue(context.Context, string) (jetstream.KeyValue, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) CreateObjectStore(context.Context, jetstream.ObjectStoreConfig) (jetstream.ObjectStore, error) {
	return nil, ErrUngated
}
func (*gatedJetStream) ObjectStore(context.Context, string) (jetstream.ObjectStore, error) {
	return nil, ErrUngated
}

func (*gatedStream) CreatePushConsumer(context.Context, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}
func (*gatedStream) CreateOrUpdatePushConsumer(context.Context, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}
func (*gatedStream) UpdatePushConsumer(context.Context, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}
func (*gatedStream) PushConsumer(context.Context, string) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}
func (*gatedStream) OrderedConsumer(context.Context, jetstream.OrderedConsumerConfig) (jetstream.Consumer, error) {
	return nil, ErrUngated
}

func (*gatedConsumer) FetchBytes(int, ...jetstream.FetchOpt) (jetstream.MessageBatch, error) {
	return nil, ErrUngated
}
func (*gatedConsumer) Consume(jetstream.MessageHandler, ...jetstream.PullConsumeOpt) (jetstream.ConsumeContext, error) {
	return nil, ErrUngated
}
func (*gatedConsumer) Messages(...jetstream.PullMessagesOpt) (jetstream.MessagesContext, error) {
	return nil, ErrUngated
}
