package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// gatedStream is a process's view of one stream. It handles consumers through js.
type gatedStream struct {
	jetstream.Stream
	stream jetstream.Stream
	js     *gatedJetStream
}

func (s *gatedStream) name() string { return s.CachedInfo().Config.Name }

// CachedInfo is the latest information about the stream that the process has.
func (s *gatedStream) CachedInfo() *jetstream.StreamInfo { return s.stream.CachedInfo() }

func (s *gatedStream) message(seq uint64) string { return fmt.Sprintf("%s/%d", s.name(), seq) }

func (s *gatedStream) Info(ctx context.Context, opts ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	return api(ctx, s.js.p, "StreamInfo", s.name(), func() (*jetstream.StreamInfo, error) { return s.stream.Info(ctx, opts...) })
}

func (s *gatedStream) GetMsg(ctx context.Context, seq uint64, opts ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	return api(ctx, s.js.p, "GetMsg", s.message(seq), func() (*jetstream.RawStreamMsg, error) { return s.stream.GetMsg(ctx, seq, opts...) })
}

func (s *gatedStream) GetLastMsgForSubject(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	return api(ctx, s.js.p, "GetLastMsgForSubject", s.name()+"/"+subject, func() (*jetstream.RawStreamMsg, error) {
		return s.stream.GetLastMsgForSubject(ctx, subject)
	})
}

func (s *gatedStream) Purge(ctx context.Context, opts ...jetstream.StreamPurgeOpt) error {
	return act(ctx, s.js.p, "Purge", s.name(), func() error { return s.stream.Purge(ctx, opts...) })
}

func (s *gatedStream) DeleteMsg(ctx context.Context, seq uint64) error {
	return act(ctx, s.js.p, "DeleteMsg", s.message(seq), func() error { return s.stream.DeleteMsg(ctx, seq) })
}

func (s *gatedStream) SecureDeleteMsg(ctx context.Context, seq uint64) error {
	return act(ctx, s.js.p, "SecureDeleteMsg", s.message(seq), func() error { return s.stream.SecureDeleteMsg(ctx, seq) })
}

func (s *gatedStream) Consumer(ctx context.Context, name string) (jetstream.Consumer, error) {
	return s.js.Consumer(ctx, s.name(), name)
}

func (s *gatedStream) CreateOrUpdateConsumer(ctx context.Context, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return s.js.CreateOrUpdateConsumer(ctx, s.name(), cfg)
}

func (s *gatedStream) CreateConsumer(ctx context.Context, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return s.js.CreateConsumer(ctx, s.name(), cfg)
}

func (s *gatedStream) UpdateConsumer(ctx context.Context, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return s.js.UpdateConsumer(ctx, s.name(), cfg)
}

func (s *gatedStream) DeleteConsumer(ctx context.Context, name string) error {
	return s.js.DeleteConsumer(ctx, s.name(), name)
}

func (s *gatedStream) PauseConsumer(ctx context.Context, name string, until time.Time) (*jetstream.ConsumerPauseResponse, error) {
	return s.js.PauseConsumer(ctx, s.name(), name, until)
}

func (s *gatedStream) ResumeConsumer(ctx context.Context, name string) (*jetstream.ConsumerPauseResponse, error) {
	return s.js.ResumeConsumer(ctx, s.name(), name)
}

func (s *gatedStream) ResetConsumer(ctx context.Context, name string) (*jetstream.ConsumerResetResponse, error) {
	return s.js.ResetConsumer(ctx, s.name(), name)
}

func (s *gatedStream) ResetConsumerToSequence(ctx context.Context, name string, seq uint64) (*jetstream.ConsumerResetResponse, error) {
	return s.js.ResetConsumerToSequence(ctx, s.name(), name, seq)
}

func (s *gatedStream) UnpinConsumer(ctx context.Context, name, group string) error {
	return act(ctx, s.js.p, "UnpinConsumer", s.name()+"/"+name, func() error { return s.stream.UnpinConsumer(ctx, name, group) })
}

func (s *gatedStream) ListConsumers(ctx context.Context) jetstream.ConsumerInfoLister {
	return listing(ctx, s.js.p, "ListConsumers", s.name(), func(i *jetstream.ConsumerInfo) string { return i.Name }, func() (<-chan *jetstream.ConsumerInfo, func() error) {
		l := s.stream.ListConsumers(ctx)
		return l.Info(), l.Err
	})
}

func (s *gatedStream) ConsumerNames(ctx context.Context) jetstream.ConsumerNameLister {
	return listing(ctx, s.js.p, "ConsumerNames", s.name(), itself, func() (<-chan string, func() error) {
		l := s.stream.ConsumerNames(ctx)
		return l.Name(), l.Err
	})
}
