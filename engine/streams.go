package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// warnOfLimits says which limits of the streams, which their operator has made, may lose a message that is needed.
func (e *Engine) warnOfLimits(ctx context.Context, streams ...jetstream.Stream) {
	for _, s := range streams {
		cfg := s.CachedInfo().Config
		warn := func(of bool, what string, attrs ...slog.Attr) {
			if of {
				e.log.LogAttrs(ctx, slog.LevelWarn, what, append(attrs, slog.String("stream", cfg.Name))...)
			}
		}
		const full = "the stream drops or refuses messages once it is full, whether they are needed or not; take the limit away, or leave it to max_age"
		least := MaxAgeMin(&e.settings)
		warn(cfg.MaxAge > 0 && cfg.MaxAge < least, "the stream forgets what may come again; raise its max_age, or set it to 0",
			slog.Duration("max_age", cfg.MaxAge), slog.Duration("at_least", least))
		warn(cfg.MaxMsgs > 0, full, slog.Int64("max_msgs", cfg.MaxMsgs))
		warn(cfg.MaxBytes > 0, full, slog.Int64("max_bytes", cfg.MaxBytes))
		warn(cfg.MaxMsgsPerSubject > 0, full, slog.Int64("max_msgs_per_subject", cfg.MaxMsgsPerSubject))
		warn(cfg.Storage == jetstream.MemoryStorage && e.streams.Storage != cfg.Storage, "the stream is kept in memory: what it holds is gone when its servers stop; make it anew with file storage")
		warn(cfg.Replicas < e.streams.Replicas, "the stream is kept by fewer servers than asked for, as it was made before; change its replicas",
			slog.Int("replicas", cfg.Replicas), slog.Int("asked", e.streams.Replicas))
	}
}

func (e *Engine) consumer(ctx context.Context, name, subject string, handle func(context.Context, jetstream.Msg) error) (*bus.Consumer, error) {
	open := func(ctx context.Context) (jetstream.Consumer, error) { return e.openConsumer(ctx, name, subject) }
	pull, err := open(ctx)
	if err != nil {
		return nil, err
	}
	var confirm bus.Confirm
	if e.settings.ConfirmAcks {
		confirm = bus.Confirm{
			Timeout: e.settings.PublishTimeout, AckWait: e.ackWait(name),
			Stream: func(ctx context.Context) (jetstream.Stream, error) { return e.js.Stream(ctx, bus.StreamSys) },
		}
	}
	return &bus.Consumer{
		Name:    name,
		Subject: subject,
		Pull:    pull,
		Reopen: func(ctx context.Context) (jetstream.Consumer, error) {
			if _, _, err := bus.EnsureStreams(ctx, e.js, e.streams); err != nil {
				return nil, err
			}
			return open(ctx)
		},
		Handlers:   e.settings.Handlers,
		FetchWait:  e.settings.FetchWait,
		RetryDelay: e.settings.RetryDelayStore,
		MaxDeliver: e.settings.MaxDeliver,
		Clock:      e.clock,
		Logger:     e.log,
		Handle: func(ctx context.Context, msg jetstream.Msg) error {
			e.metrics.Active.Inc()
			defer e.metrics.Active.Dec()
			return handle(ctx, msg)
		},
		Terminate:  e.recordPoison,
		TermFirst:  e.settings.TerminateOrder == settings.TermFirst,
		Unrecorded: func(ctx context.Context) time.Duration { return e.infrastructureDelay(ctx, retryDelayTerminate) },
		Guard:      e.guard,
		GivenUp:    e.metrics.MessagesGivenUp.WithLabelValues(name).Inc,
		Safe:       e.safe,
		Pulled:     func(err error) { e.pulled(name, err) },
		Confirm:    confirm,
	}, nil
}

// safe puts off, like any failure of the store, a message whose writes the replicas have not confirmed.
func (e *Engine) safe(ctx context.Context, jobID string) (confirm func(context.Context) error) {
	confirmed := e.replica.Since(ctx, jobID)
	return func(ctx context.Context) error {
		if err := confirmed(ctx); err != nil {
			return e.retrying(ctx, jobID, metrics.UnknownTopic, e.storeRetry(ctx, err, phase.ReplicaWait, ""))
		}
		return nil
	}
}

// ackWait is for how long the server waits for the answer to a message before it delivers the message again. A cancellation
// is worth the less the later it comes, and its handling takes seconds at most: with keep_cancellations, one whose scheduler
// has crashed comes again once that one's lock of the job is over.
func (e *Engine) ackWait(consumer string) time.Duration {
	if consumer != bus.ConsumerCancel || !e.settings.KeepCancellations {
		return e.settings.AckWait
	}
	return min(e.settings.AckWait, max(e.settings.JobLockTTL, cancelAckWaitMin))
}

// cancelAckWaitMin times MaxDeliver outlasts outages of half an hour.
const cancelAckWaitMin = 30 * time.Second

// openConsumer creates or updates one of the durable consumers that the replicas share (AckWait and
// MaxDeliver: Scheduler internals, section 9).
func (e *Engine) openConsumer(ctx context.Context, name, subject string) (jetstream.Consumer, error) {
	c, err := e.js.CreateOrUpdateConsumer(ctx, bus.StreamSys, jetstream.ConsumerConfig{
		Durable:       name,
		FilterSubject: subject,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       e.ackWait(name),
		MaxDeliver:    e.settings.MaxDeliver,
		// No limit: Handlers bounds the work already, and messages that wait out their delay are pending
		// too. At the server's default, 1000 of them would keep every other message back.
		MaxAckPending: -1,
	})
	if err != nil {
		return nil, fmt.Errorf("consumer %s: %w", name, err)
	}
	return c, nil
}
