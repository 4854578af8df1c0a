package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// gatedStream is a process's view of one stream. What it does with consumers js does, too.
type gatedStream struct {
	jetstream.Stream
	js *gatedJetStream
}

func (s *gatedStream) name() string { return s.CachedInfo().Config.Name }

func (s *gatedStream) message(seq uint64) string { return fmt.Sprintf("%s/%d", s.name(), seq) }

func (s *gatedStream) Info(ctx context.Context, opts ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	return api(ctx, s.js.p, "StreamInfo", s.name(), func() (*jetstream.StreamInfo, error) { return s.Stream.Info(ctx, opts...) })
}

func (s *gatedStream) GetMsg(ctx context.Context, seq uint64, opts ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	return api(ctx, s.js.p, "GetMsg", s.message(seq), func() (*jetstream.RawStreamMsg, error) { return s.Stream.GetMsg(ctx, seq, opts...) })
}

func (s *gatedStream) GetLastMsgForSubject(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	return api(ctx, s.js.p, "GetLastMsgForSubject", s.name()+"/"+subject, func() (*jetstream.RawStreamMsg, error) {
		return s.Stream.GetLastMsgForSubject(ctx, subject)
	})
}

func (s *gatedStream) Purge(ctx context.Context, opts ...jetstream.StreamPurgeOpt) error {
	return act(ctx, s.js.p, "Purge", s.name(), func() error { return s.Stream.Purge(ctx, opts...) })
}

func (s *gatedStream) DeleteMsg(ctx context.Context, seq uint64) error {
	return act(ctx, s.js.p, "DeleteMsg", s.message(seq), func() error { return s.Stream.DeleteMsg(ctx, seq) })
}

func (s *gatedStream) SecureDeleteMsg(ctx context.Context, seq uint64) error {
	return act(ctx, s.js.p, "SecureDeleteMsg", s.message(seq), func() error { return s.Stream.SecureDeleteMsg(ctx, seq) })
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
