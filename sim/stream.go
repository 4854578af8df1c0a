package sim

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// gatedStream is a process's view of one stream.
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

func (s *gatedStream) UpdateConsumer(ctx context.Context, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return s.p.consumer(ctx, "UpdateConsumer", s.name(), cfg.Durable, func() (jetstream.Consumer, error) {
		return s.Stream.UpdateConsumer(ctx, cfg)
	})
}

func (s *gatedStream) DeleteConsumer(ctx context.Context, name string) error {
	return s.do(ctx, "DeleteConsumer", s.name()+"/"+name, func() error { return s.Stream.DeleteConsumer(ctx, name) })
}

func (s *gatedStream) Purge(ctx context.Context, opts ...jetstream.StreamPurgeOpt) error {
	return s.do(ctx, "Purge", s.name(), func() error { return s.Stream.Purge(ctx, opts...) })
}

func (s *gatedStream) DeleteMsg(ctx context.Context, seq uint64) error {
	return s.do(ctx, "DeleteMsg", fmt.Sprintf("%s/%d", s.name(), seq), func() error { return s.Stream.DeleteMsg(ctx, seq) })
}

func (s *gatedStream) SecureDeleteMsg(ctx context.Context, seq uint64) error {
	return s.do(ctx, "SecureDeleteMsg", fmt.Sprintf("%s/%d", s.name(), seq), func() error { return s.Stream.SecureDeleteMsg(ctx, seq) })
}

func (s *gatedStream) do(ctx context.Context, name, target string, call func() error) error {
	_, err := api(ctx, s.p, name, target, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

func (s *gatedStream) CreatePushConsumer(context.Context, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}

func (s *gatedStream) CreateOrUpdatePushConsumer(context.Context, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}

func (s *gatedStream) UpdatePushConsumer(context.Context, jetstream.ConsumerConfig) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}

func (s *gatedStream) PushConsumer(context.Context, string) (jetstream.PushConsumer, error) {
	return nil, ErrUngated
}

func (s *gatedStream) OrderedConsumer(context.Context, jetstream.OrderedConsumerConfig) (jetstream.Consumer, error) {
	return nil, ErrUngated
}
