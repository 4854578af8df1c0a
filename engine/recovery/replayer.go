package recovery

import (
	"context"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// ReplayerKey is the key of the replayer's lock.
const ReplayerKey = "cordum:replayer:pending"

// Wait is how long a job stays in a state before the replayer takes it up.
type Wait struct {
	State job.State
	Age   time.Duration
}

// Replayer takes up jobs that wait for too long. All fields but More are required.
type Replayer struct {
	Store         *store.Store
	Lock          *lock.Tick
	Clock         clockwork.Clock
	Logger        *slog.Logger
	Waits         []Wait
	BatchSize     int // jobs of one state that are read at once
	MaxIterations int // batches in one tick

	// Granted says whether a job in APPROVAL_REQUIRED has its approval; one that has not waits rightly.
	Granted func(ctx context.Context, listed *store.Record) (bool, error)
	// Replay brings a job on from the state it was listed in, if it is still there. It takes the
	// job's lock. What it could not do comes again at a later tick; it is ErrOwn if no replica could.
	Replay func(ctx context.Context, listed *store.Record) error

	// More takes up what else waits, at each tick; nil is nothing. An error ends the tick early.
	More func(ctx context.Context) error

	list walker
}

// Run ticks at each beat until ctx ends.
func (r *Replayer) Run(ctx context.Context, beat clockwork.Ticker) {
	r.list = walker{store: r.Store, lock: r.Lock, log: r.Logger, size: r.BatchSize, iterations: r.MaxIterations}
	Loop(ctx, beat, r.Lock, r.Logger, r.tick, func() {})
}

func (r *Replayer) tick(ctx context.Context) error {
	now := r.Clock.Now()
	queries := make([]store.Query, len(r.Waits))
	for i, w := range r.Waits {
		queries[i] = store.Query{Key: store.IndexKey(w.State), Until: now.Add(-w.Age)}
	}
	err := r.list.walk(phase.With(ctx, "", phase.ReplayRead), queries, func(ctx context.Context, rec *store.Record) (waits bool, err error) {
		due, err := r.due(ctx, rec, now)
		if !due && err == nil {
			return true, nil
		}
		if err == nil {
			err = r.Replay(ctx, rec)
		}
		if err != nil {
			r.Logger.LogAttrs(ctx, slog.LevelWarn, "replay left to a later tick", slog.String("job_id", rec.JobID),
				slog.String("topic", rec.Topic), slog.String("state", string(rec.State)), slog.Any("error", err))
		}
		return false, err
	})
	if err == nil && r.More != nil && ctx.Err() == nil {
		err = r.More(context.WithoutCancel(ctx))
	}
	return err
}

// due says whether the job, which may have moved on since it was listed, waits for too long.
func (r *Replayer) due(ctx context.Context, rec *store.Record, now time.Time) (bool, error) {
	for _, w := range r.Waits {
		if w.State == rec.State && now.Sub(rec.UpdatedAt) >= w.Age {
			if rec.State == job.ApprovalRequired {
				return r.Granted(ctx, rec)
			}
			return true, nil
		}
	}
	return false, nil
}
