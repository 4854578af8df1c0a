package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/recovery"
	"github.com/wavetank-sim/wavetank/engine/safety"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// ReplayerConfig is what an operator triages and replays dead letters with.
type ReplayerConfig struct {
	ClientConfig
	Triage *dlq.Policy                                                         // nil is the default of each class of reason codes
	Check  func(ctx context.Context, req *job.Request) (safety.Verdict, error) // nil asks nobody, and leaves it to the schedulers' own check of the new job
	Ledger dlq.Ledger                                                          // asked before a replay; nil asks Redis alone
	Random Random                                                              // nil is crypto/rand
}

// NewReplayer returns what an operator lists, approves, denies and replays dead letters with, or says
// everything that is wrong with its configuration. It does no I/O.
func NewReplayer(c ReplayerConfig) (*dlq.Replayer, error) {
	if err := c.complete(); err != nil {
		return nil, fmt.Errorf("replayer: %w", err)
	}
	if c.Random == nil {
		c.Random = cryptoRandom{}
	}
	s := &c.Settings
	records := &store.Store{Redis: c.Redis, Clock: c.Clock, Timeout: s.StoreOpTimeout}
	queue := &dlq.Queue{Redis: c.Redis, Clock: c.Clock, TTL: s.DLQEntryTTL, Timeout: s.StoreOpTimeout}
	r := newDLQReplayer(s, records, queue, c.JetStream, c.Random)
	r.Policy, r.Logger, r.Ended = c.Triage, slog.New(slog.DiscardHandler), func(*dlq.Entry) {}
	r.Check, r.Ledger, r.Safe = c.Check, c.Ledger, replicaOf(c.Redis, s).Since
	if r.Check == nil {
		r.Check = func(context.Context, *job.Request) (safety.Verdict, error) {
			return safety.Verdict{Decision: safety.Allow}, nil
		}
	}
	return r, nil
}

// replayWait is the back-off before the n-th replay of a job.
func replayWait(s *settings.Settings, random Random) func(ctx context.Context, n int) time.Duration {
	return func(ctx context.Context, n int) time.Duration {
		r := &s.Replay
		return backoffDelay(n-1, r.BackoffBase, jitter(random.Uint64(ctx), r.BackoffBase), r.BackoffMax)
	}
}

// newDLQReplayer is what a scheduler and an operator have in common.
func newDLQReplayer(s *settings.Settings, records *store.Store, queue *dlq.Queue, js jetstream.JetStream, random Random) *dlq.Replayer {
	return &dlq.Replayer{
		Wait: replayWait(s, random), Draw: random.Uint64,
		Publish: func(ctx context.Context, req *job.Request) error {
			packet, err := json.Marshal(req)
			if err != nil {
				return err
			}
			return bus.Publish(ctx, js, bus.Message{Subject: bus.SubjectSubmit, JobID: req.JobID, Body: packet}, s.PublishTimeout)
		},
		Queue: queue, Clock: queue.Clock, MaxReplays: s.Replay.MaxReplays,
		Triage: s.Replay.Triage, KeepKey: s.Replay.KeepKey, CheckCommitted: s.Replay.CheckCommitted,
		CheckPolicy: s.Replay.CheckPolicy, Atomic: s.Replay.Atomic,
		Request: func(ctx context.Context, jobID string) (job.Request, error) {
			rec, err := records.Read(ctx, jobID)
			if err != nil {
				return job.Request{}, err
			}
			req, err := rec.Request()
			if err != nil {
				err = recovery.Own(err)
			}
			return req, err
		},
		Create: func(ctx context.Context, p redis.Pipeliner, req *job.Request) error {
			packet, err := json.Marshal(req)
			if err == nil {
				records.Put(ctx, p, req, packet)
			}
			return err
		},
	}
}
