package workflow

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/wavetank-sim/wavetank/engine/lock"
)

// locals are the first layer of a run's lock: of the goroutines of one replica, one has a run at a time. They
// are channels, since who has one talks to Redis meanwhile.
type locals struct {
	mu   sync.Mutex
	runs map[string]*local
}

type local struct {
	slot  chan struct{}
	users int // who have it, or wait for it
}

// take waits for the run, and returns what gives it up; or ctx's error.
func (l *locals) take(ctx context.Context, runID string) (release func(), err error) {
	l.mu.Lock()
	if l.runs == nil {
		l.runs = map[string]*local{}
	}
	k := l.runs[runID]
	if k == nil {
		k = &local{slot: make(chan struct{}, 1)}
		l.runs[runID] = k
	}
	k.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.runs, runID)
		}
	}
	select {
	case k.slot <- struct{}{}:
		return func() { <-k.slot; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// withRunLock runs fn with both layers of the run's lock, the one in Redis given back first (Scheduler internals,
// section 8). If that is another replica's, or Redis is away, fn runs with the local one alone, unless the lock is
// strict: two replicas may then have the run at once.
func (e *Engine) withRunLock(ctx context.Context, runID string, fn func(ctx context.Context) error) error {
	release, err := e.locals.take(ctx, runID)
	if err != nil {
		return err
	}
	defer release()
	ctx = context.WithoutCancel(ctx)
	locked := false
	err = e.Locks.WithLock(ctx, RunLockKey(runID), e.LockTTL, func(ctx context.Context) error {
		locked = true
		return fn(ctx)
	})
	if locked || err == nil || e.StrictLock {
		return err
	}
	words := "run lock unavailable, local-only fallback"
	if errors.Is(err, lock.ErrBusy) {
		words = "run lock contended, local-only fallback"
	}
	e.Logger.LogAttrs(ctx, slog.LevelWarn, words, slog.String("run_id", runID), slog.Any("error", err))
	return fn(ctx)
}
