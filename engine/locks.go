package engine

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// locker takes the locks of jobs.
func (e *Engine) locker(c *Config) *lock.Locker {
	return &lock.Locker{
		Redis: c.Redis,
		Clock: c.Clock,
		Token: func(ctx context.Context) string {
			return c.ID + ":" + strconv.FormatUint(c.Random.Uint64(ctx), 16)
		},
		Timeout:            c.Settings.StoreOpTimeout,
		MaxRenewalFailures: c.Settings.MaxRenewalFailures,
		Unrenewed:          !c.Settings.LockRenewal,
		Unchecked:          c.Settings.LockRelease == settings.Unchecked,
		Logger:             e.log,
		Waited: func(took time.Duration, failed bool) {
			e.metrics.JobLockWait.Observe(took.Seconds())
			e.watchRedis(metrics.OperationLock, took, failed)
		},
		Abandoned: e.metrics.RenewalsAbandoned.Inc,
	}
}

// withJobLock serialises what happens to a job across replicas (Scheduler internals, section 8).
func (e *Engine) withJobLock(ctx context.Context, jobID string, fn func(ctx context.Context) error) error {
	var handled error
	err := e.locks.WithLock(phase.With(ctx, jobID, phase.LockAcquire), lock.JobKey(jobID), e.settings.JobLockTTL,
		func(ctx context.Context) error {
			handled = fn(ctx)
			return nil
		})
	switch {
	case err == nil:
		return handled
	case errors.Is(err, lock.ErrBusy):
		return e.busyRetry(ctx, err, phase.LockAcquire, "")
	}
	return e.storeRetry(ctx, err, phase.LockAcquire, "")
}

// tickLock is held for twice the poll (Scheduler internals, section 8).
func (e *Engine) tickLock(key string, p phase.Phase) *lock.Tick {
	keep := map[settings.TickLock]lock.Keep{settings.UntilExpiry: lock.UntilExpiry, settings.Renewed: lock.Renewed, settings.Released: lock.Released}
	return &lock.Tick{Locker: e.locks, Key: key, TTL: 2 * e.settings.PollInterval, Keep: keep[e.settings.TickLock], Acquire: p, Release: p}
}
