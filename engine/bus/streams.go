package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// StreamOptions are what a deployment decides about the streams that are yet to be created.
type StreamOptions struct {
	Storage  jetstream.StorageType // the zero value is file storage
	Replicas int                   // of each message; 0 is 1
	MaxAge   time.Duration         // messages older than this go; 0 keeps them
	Topics   []string              // dispatches may go to these, besides job.>
}

// ErrUnfit says that NATS, or a stream that somebody has made there, cannot be worked with as it is.
var ErrUnfit = errors.New("unfit")

// unfit is an ErrUnfit that says why, and what would be right.
type unfit string

func (u unfit) Error() string { return string(u) }

func (unfit) Is(err error) bool { return err == ErrUnfit }

// EnsureStreams creates CORDUM_SYS and CORDUM_JOBS with the given options, and returns them. Of a stream that
// exists everything stays as its operator has it; what it lacks are its subjects, if anything. A stream that drops what was
// acknowledged, or what nobody consumes yet, is ErrUnfit.
func EnsureStreams(ctx context.Context, js jetstream.JetStream, opt StreamOptions) (sys, jobs jetstream.Stream, err error) {
	more := slices.DeleteFunc(slices.Clone(opt.Topics), func(topic string) bool { return Covered(topic, JobsSubjects) })
	for _, s := range []struct {
		is       *jetstream.Stream
		name     string
		subjects []string
	}{{&sys, StreamSys, SysSubjects}, {&jobs, StreamJobs, slices.Concat(JobsSubjects, more)}} {
		*s.is, err = ensureStream(ctx, js, jetstream.StreamConfig{
			Name:      s.name,
			Subjects:  s.subjects,
			Retention: jetstream.LimitsPolicy,
			Storage:   opt.Storage,
			Replicas:  max(1, opt.Replicas),
			MaxAge:    opt.MaxAge,
		})
		if err != nil {
			return nil, nil, fmt.Errorf("stream %s: %w", s.name, err)
		}
	}
	return sys, jobs, nil
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
	if now.Retention != cfg.Retention {
		return nil, unfit("its retention is " + strings.ToLower(now.Retention.String()) + ", and it must be limits, which keeps what was acknowledged; make it anew, or remove it, and the scheduler makes it")
	}
	lacks := slices.DeleteFunc(slices.Clone(cfg.Subjects), func(subject string) bool { return Covered(subject, now.Subjects) })
	if len(lacks) == 0 {
		return s, nil
	}
	// A stream's subjects must not overlap.
	kept := slices.DeleteFunc(slices.Clone(now.Subjects), func(subject string) bool { return Covered(subject, lacks) })
	now.Subjects = append(kept, lacks...)
	return js.UpdateStream(ctx, now)
}

// Covered says whether every message of a subject, which may have wildcards, is one of the others, too.
func Covered(subject string, others []string) bool {
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
