package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/faultline-sim/faultline/engine/bus"
)

// StreamOptions are what a deployment decides about the streams.
type StreamOptions struct {
	Storage  jetstream.StorageType // the zero value is file storage
	Replicas int                   // of each message; 0 is 1
	MaxAge   time.Duration         // messages older than this go; 0 keeps them
}

// EnsureStreams creates CORDUM_SYS and CORDUM_JOBS, or brings them to the given options. The
// storage of a stream that exists cannot be changed.
func EnsureStreams(ctx context.Context, js jetstream.JetStream, opt StreamOptions) error {
	_, err := ensureStreams(ctx, js, opt)
	return err
}

// ensureStreams returns the stream of dispatches.
func ensureStreams(ctx context.Context, js jetstream.JetStream, opt StreamOptions) (jobs jetstream.Stream, err error) {
	for _, s := range []struct {
		name     string
		subjects []string
	}{{bus.StreamSys, bus.SysSubjects}, {bus.StreamJobs, bus.JobsSubjects}} {
		jobs, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name:      s.name,
			Subjects:  s.subjects,
			Retention: jetstream.LimitsPolicy,
			Storage:   opt.Storage,
			Replicas:  max(1, opt.Replicas),
			MaxAge:    opt.MaxAge,
		})
		if err != nil {
			return nil, fmt.Errorf("stream %s: %w", s.name, err)
		}
	}
	return jobs, nil
}

// openConsumer creates or updates one of the durable consumers that the replicas share (AckWait and
// MaxDeliver: seed 003, section 9).
func (e *Engine) openConsumer(ctx context.Context, name, subject string) (jetstream.Consumer, error) {
	c, err := e.js.CreateOrUpdateConsumer(ctx, bus.StreamSys, jetstream.ConsumerConfig{
		Durable:       name,
		FilterSubject: subject,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       e.settings.AckWait,
		MaxDeliver:    e.settings.MaxDeliver,
	})
	if err != nil {
		return nil, fmt.Errorf("consumer %s: %w", name, err)
	}
	return c, nil
}
