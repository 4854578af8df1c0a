package engine

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/registry"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// SnapshotWriterKey is the key of the lock of the snapshot's writer (Scheduler internals, section 8).
const SnapshotWriterKey = "cordum:scheduler:snapshot:writer"

// warmStart fills the registry from the snapshot, so that a replica that starts need not wait for
// heartbeats before it can dispatch (Scheduler internals, section 11). Whatever goes wrong with it is a cold start.
func (e *Engine) warmStart(ctx context.Context) {
	if !e.settings.WarmStart {
		return
	}
	reading, cancel := context.WithTimeout(phase.With(ctx, "", phase.SnapshotRead), e.settings.SnapshotReadTimeout)
	defer cancel()
	snapshot, err := registry.Read(reading, e.store.Redis)
	if errors.Is(err, redis.Nil) {
		e.log.LogAttrs(ctx, slog.LevelWarn, "cold start: there is no snapshot yet", slog.String("key", registry.SnapshotKey))
		return
	}
	if err != nil {
		e.log.LogAttrs(ctx, slog.LevelWarn, "cold start", slog.String("key", registry.SnapshotKey), slog.Any("error", err))
		return
	}
	learned := e.registry.Hydrate(&snapshot, e.settings.SnapshotLastSeen)
	e.log.LogAttrs(ctx, slog.LevelInfo, "warm start", slog.Int("workers", learned), slog.Int64("written_at", snapshot.WrittenAt))
}

// snapshotLock is the writer's lock: given back after each write, and short, so that another can go on (Scheduler internals, section 8).
func (e *Engine) snapshotLock() *lock.Tick {
	return &lock.Tick{
		Locker: e.locks, Key: SnapshotWriterKey, TTL: e.settings.SnapshotLockTTL, Keep: lock.Released,
		Acquire: phase.SnapshotLock, Release: phase.SnapshotUnlock,
	}
}

// startSnapshots adds the loop that writes the snapshot.
func (e *Engine) startSnapshots(ctx context.Context, loops *errgroup.Group) {
	k := e.snapshotLock()
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
		case errors.Is(err, lock.ErrBusy), errors.Is(err, store.ErrFenced):
			e.log.LogAttrs(ctx, slog.LevelDebug, "snapshot left to another replica", slog.Any("error", err))
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
	if !e.settings.SnapshotLock {
		return e.setSnapshot(ctx, &snapshot, nil)
	}
	if err := k.Begin(ctx); err != nil {
		return err
	}
	err := e.setSnapshot(ctx, &snapshot, k.Held())
	if err == nil && e.settings.Fence {
		return nil // the lock went with the write
	}
	return errors.Join(err, k.End(ctx, true))
}

// setSnapshot writes the snapshot. With a fence it does so only over an older one, and while held, if there is one, is
// still the writer's; it gives held back with the same EXEC. A writer that overstayed its lock, or that took its time,
// changes nothing.
func (e *Engine) setSnapshot(ctx context.Context, snapshot *registry.Snapshot, held *lock.Lock) error {
	data, err := json.Marshal(snapshot)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(phase.With(ctx, "", phase.SnapshotWrite), e.settings.StoreOpTimeout)
	defer cancel()
	if !e.settings.Fence {
		return e.store.Redis.Set(ctx, registry.SnapshotKey, data, 0).Err()
	}
	err = lock.Watch(ctx, e.store.Redis, held, []string{registry.SnapshotKey}, func(tx *redis.Tx) error {
		if err := e.lookAtSnapshot(ctx, tx, snapshot, held); err != nil {
			return err
		}
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, registry.SnapshotKey, data, 0)
			if held != nil {
				p.Del(ctx, held.Key())
			}
			return nil
		})
		return err
	})
	if errors.Is(err, lock.ErrNotOwner) {
		err = store.ErrFenced
	}
	return err
}

// lookAtSnapshot compares the snapshot that is there with the one that is to replace it, and the lock's key with
// its token. What nobody can read, or what was written by a clock that is ahead of this replica's, is
// not to keep every other word out.
func (e *Engine) lookAtSnapshot(ctx context.Context, tx *redis.Tx, snapshot *registry.Snapshot, held *lock.Lock) error {
	var there *redis.StringCmd
	var mine func() error
	_, err := tx.Pipelined(ctx, func(p redis.Pipeliner) error {
		there = p.Get(ctx, registry.SnapshotKey)
		mine = held.Mine(ctx, p)
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) { // either may be gone
		return err
	}
	if err := mine(); err != nil {
		return err
	}
	old, err := registry.ParseSnapshot([]byte(there.Val()))
	if err == nil && old.WrittenAt >= snapshot.WrittenAt && old.WrittenAt <= e.clock.Now().UnixMilli() {
		return store.ErrFenced
	}
	return nil
}
