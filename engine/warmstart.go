package engine

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

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
	snapshot, now, err := e.readSnapshot(ctx)
	if errors.Is(err, redis.Nil) {
		e.log.LogAttrs(ctx, slog.LevelWarn, "cold start: there is no snapshot yet", slog.String("key", registry.SnapshotKey))
		return
	}
	if err != nil {
		e.log.LogAttrs(ctx, slog.LevelWarn, "cold start", slog.String("key", registry.SnapshotKey), slog.Any("error", err))
		return
	}
	learned := e.registry.Hydrate(&snapshot, now)
	e.log.LogAttrs(ctx, slog.LevelInfo, "warm start", slog.Int("workers", learned), slog.Int64("written_at", snapshot.WrittenAt))
}

// readSnapshot returns the snapshot, and the time by its clock: the zero Time if, as the documents have it, nobody asks how old it is.
func (e *Engine) readSnapshot(ctx context.Context) (snapshot registry.Snapshot, now time.Time, err error) {
	ctx, cancel := context.WithTimeout(phase.With(ctx, "", phase.SnapshotRead), e.settings.SnapshotReadTimeout)
	defer cancel()
	snapshot, err = registry.Read(ctx, e.store.Redis)
	if err != nil || !e.settings.SnapshotLastSeen {
		return snapshot, now, err
	}
	now, err = e.snapshotTime(ctx, e.store.Redis)()
	return snapshot, now, err
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
	if !e.registry.AnyAlive() {
		return nil
	}
	if !e.settings.SnapshotLock {
		return e.setSnapshot(ctx, nil)
	}
	if err := k.Begin(ctx); err != nil {
		return err
	}
	err := e.setSnapshot(ctx, k.Held())
	if err == nil && e.settings.Fence {
		return nil // the lock went with the write
	}
	return errors.Join(err, k.End(ctx, true))
}

// setSnapshot writes the snapshot. With a fence it does so only while held, if there is one, is still the writer's, and over
// the snapshot that was there before it looked at its workers; it gives held back with the same EXEC. A writer that overstayed
// its lock, or that took its time, changes nothing.
func (e *Engine) setSnapshot(ctx context.Context, held *lock.Lock) error {
	ctx, cancel := context.WithTimeout(phase.With(ctx, "", phase.SnapshotWrite), e.settings.StoreOpTimeout)
	defer cancel()
	if !e.settings.Fence {
		now, err := e.snapshotTime(ctx, e.store.Redis)()
		if err != nil {
			return err
		}
		return e.putSnapshot(ctx, e.store.Redis, now)
	}
	err := lock.Watch(ctx, e.store.Redis, held, []string{registry.SnapshotKey}, func(tx *redis.Tx) error {
		var now func() (time.Time, error)
		var mine func() error
		_, err := tx.Pipelined(ctx, func(p redis.Pipeliner) error {
			now, mine = e.snapshotTime(ctx, p), held.Mine(ctx, p)
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) { // the lock may be gone
			return err
		}
		at, err := now()
		if err := errors.Join(err, mine()); err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			err := e.putSnapshot(ctx, p, at)
			if held != nil {
				p.Del(ctx, held.Key())
			}
			return err
		})
		return err
	})
	if errors.Is(err, lock.ErrNotOwner) {
		err = store.ErrFenced
	}
	return err
}

func (e *Engine) putSnapshot(ctx context.Context, c redis.Cmdable, now time.Time) error {
	data, err := json.Marshal(e.registry.Alive(now))
	if err != nil {
		return err
	}
	return c.Set(ctx, registry.SnapshotKey, data, 0).Err()
}

// snapshotTime asks for the time by which a snapshot tells when its workers were heard of, alone or in a pipeline: that of Redis,
// which is the same for its writer and its readers, whatever their clocks say. Without snapshot_last_seen, as the documents have it, it is
// this replica's own. A writer asks before it looks at its workers, and a reader after it has read the snapshot, so that no worker counts
// as younger than it is.
func (e *Engine) snapshotTime(ctx context.Context, c redis.Cmdable) (answer func() (time.Time, error)) {
	if !e.settings.SnapshotLastSeen {
		return func() (time.Time, error) { return e.clock.Now(), nil }
	}
	return c.Time(ctx).Result
}
