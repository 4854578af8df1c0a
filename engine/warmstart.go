package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/faultline-sim/faultline/engine/lock"
	"github.com/faultline-sim/faultline/engine/phase"
	"github.com/faultline-sim/faultline/engine/registry"
)

// SnapshotWriterKey is the key of the lock of the snapshot's writer (seed 003, section 8).
const SnapshotWriterKey = "cordum:scheduler:snapshot:writer"

// warmStart fills the registry from the snapshot, so that a replica that starts need not wait for
// heartbeats before it can dispatch (seed 003, section 11). Whatever goes wrong with it is a cold start.
func (e *Engine) warmStart(ctx context.Context) {
	if !e.settings.WarmStart {
		return
	}
	snapshot, err := e.readSnapshot(ctx)
	if errors.Is(err, redis.Nil) {
		e.log.LogAttrs(ctx, slog.LevelInfo, "cold start: there is no snapshot yet", slog.String("key", registry.SnapshotKey))
		return
	}
	if err != nil {
		e.log.LogAttrs(ctx, slog.LevelWarn, "cold start", slog.String("key", registry.SnapshotKey), slog.Any("error", err))
		return
	}
	learned := e.registry.Hydrate(snapshot, e.settings.SnapshotLastSeen)
	e.log.LogAttrs(ctx, slog.LevelInfo, "warm start", slog.Int("workers", learned), slog.Int64("written_at", snapshot.WrittenAt))
}

func (e *Engine) readSnapshot(ctx context.Context) (*registry.Snapshot, error) {
	ctx, cancel := context.WithTimeout(phase.With(ctx, "", phase.SnapshotRead), e.settings.SnapshotReadTimeout)
	defer cancel()
	data, err := e.store.Redis.Get(ctx, registry.SnapshotKey).Bytes()
	if err != nil {
		return nil, err
	}
	s := new(registry.Snapshot)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("not a snapshot: %w", err)
	}
	return s, nil
}

// startSnapshots adds the loop that writes the snapshot.
func (e *Engine) startSnapshots(ctx context.Context, loops *errgroup.Group) {
	k := &lock.Tick{
		Locker: e.locks, Key: SnapshotWriterKey, TTL: e.settings.SnapshotLockTTL, Keep: lock.Released,
		Acquire: phase.SnapshotLock, Release: phase.SnapshotUnlock,
	}
	beat := e.clock.NewTicker(e.settings.SnapshotEvery)
	loops.Go(func() error { defer beat.Stop(); e.writeSnapshots(ctx, beat, k); return nil })
}

func (e *Engine) writeSnapshots(ctx context.Context, beat clockwork.Ticker, k *lock.Tick) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.Chan():
		}
		err := e.writeSnapshot(context.WithoutCancel(ctx), k)
		switch {
		case errors.Is(err, lock.ErrBusy):
			e.log.LogAttrs(ctx, slog.LevelDebug, "snapshot left to another replica")
		case err != nil:
			e.log.LogAttrs(ctx, slog.LevelWarn, "snapshot not written", slog.Any("error", err))
		}
	}
}

// writeSnapshot writes what this replica knows, unless it knows of nobody: its word would be worth
// less than what is there.
func (e *Engine) writeSnapshot(ctx context.Context, k *lock.Tick) error {
	snapshot := e.registry.Alive()
	if len(snapshot.Workers) == 0 {
		return nil
	}
	data, err := json.Marshal(snapshot)
	if err != nil {
		return err
	}
	if !e.settings.SnapshotLock {
		return e.setSnapshot(ctx, data)
	}
	if err := k.Begin(ctx); err != nil {
		return err
	}
	return errors.Join(e.setSnapshot(ctx, data), k.End(ctx, true))
}

func (e *Engine) setSnapshot(ctx context.Context, data []byte) error {
	ctx, cancel := context.WithTimeout(phase.With(ctx, "", phase.SnapshotWrite), e.settings.StoreOpTimeout)
	defer cancel()
	return e.store.Redis.Set(ctx, registry.SnapshotKey, data, 0).Err()
}
