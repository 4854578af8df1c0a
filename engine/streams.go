package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/bus"
)

// StreamOptions are what a deployment decides about the streams that are yet to be created.
type StreamOptions struct {
	Storage  jetstream.StorageType // the zero value is file storage
	Replicas int                   // of each message; 0 is 1
	MaxAge   time.Duration         // messages older than this go; 0 keeps them
}

// warnOfAge says that a stream of dispatches which its operator has made keeps less than epochs need.
func (e *Engine) warnOfAge(ctx context.Context, jobs jetstream.Stream) {
	if age, least := jobs.CachedInfo().Config.MaxAge, e.settings.MaxAgeMin(); age > 0 && age < least {
		e.log.LogAttrs(ctx, slog.LevelWarn, "the stream forgets dispatches that may come again; raise its max_age, or set it to 0",
			slog.String("stream", bus.StreamJobs), slog.Duration("max_age", age), slog.Duration("at_least", least))
	}
}

// EnsureStreams creates CORDUM_SYS and CORDUM_JOBS with the given options. Of a stream that exists
// everything stays as its operator has it; what it lacks are its subjects, if anything.
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
		jobs, err = ensureStream(ctx, js, jetstream.StreamConfig{
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

// ensureStream is one call if the stream is to be created, or is just as cfg says.
func ensureStream(ctx context.Context, js jetstream.JetStream, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := js.CreateStream(ctx, cfg)
	if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return s, err
	}
	if s, err = js.Stream(ctx, cfg.Name); err != nil {
		return nil, err
	}
	now := s.CachedInfo().Config
	lacks := slices.DeleteFunc(slices.Clone(cfg.Subjects), func(subject string) bool { return covered(subject, now.Subjects) })
	if len(lacks) == 0 {
		return s, nil
	}
	// A stream's subjects must not overlap.
	kept := slices.DeleteFunc(slices.Clone(now.Subjects), func(subject string) bool { return covered(subject, lacks) })
	now.Subjects = append(kept, lacks...)
	return js.UpdateStream(ctx, now)
}

// covered says whether every message of a subject, which may have wildcards, is one of the others, too.
func covered(subject string, others []string) bool {
	return slices.ContainsFunc(others, func(other string) bool {
		a, b := strings.Split(subject, "."), strings.Split(other, ".")
		for i, token := range b {
			switch {
			case i == len(a):
				return false
			case token == ">":
				return true
			case a[i] == ">" || token != "*" && token != a[i]:
				return false
			}
		}
		return len(a) == len(b)
	})
}

// openConsumer creates or updates one of the durable consumers that the replicas share (AckWait and
// MaxDeliver: Scheduler internals, section 9).
func (e *Engine) openConsumer(ctx context.Context, name, subject string) (jetstream.Consumer, error) {
	c, err := e.js.CreateOrUpdateConsumer(ctx, bus.StreamSys, jetstream.ConsumerConfig{
		Durable:       name,
		FilterSubject: subject,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       e.settings.AckWait,
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
