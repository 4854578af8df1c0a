package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/recovery"
	"github.com/wavetank-sim/wavetank/engine/safety"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// replay brings on a job that the replayer has found waiting for too long (Scheduler internals, section 3): as
// its request would, if it came again. It reads the job once more, since the tick may have been at others
// for long.
func (e *Engine) replay(ctx context.Context, listed *store.Record) error {
	now, err := e.store.Read(phase.With(ctx, listed.JobID, phase.ReplayRead), listed.JobID)
	if errors.Is(err, store.ErrNotFound) || err == nil && now.State != listed.State {
		return nil
	}
	if err != nil {
		return fmt.Errorf("replay %s: %w", listed.JobID, err)
	}
	if now.State == job.Dispatched {
		if !e.resumable(&now) {
			return nil // its lock is left to the reconciler
		}
		return e.own(e.resume(ctx, listed.JobID))
	}
	req, err := now.Request()
	if err != nil {
		return fmt.Errorf("replay %s: %w: %w", listed.JobID, recovery.ErrOwn, err)
	}
	return e.own(e.handleRequest(ctx, &handling{req: &req, started: e.clock.Now(), orphan: listed.State}))
}

// own marks what puts a job off although nothing has failed that other jobs need: its topic has no worker to take it, its
// tenant no slot, the kernel throttles it, refuses its question or is away for all, or it is on its way from a dead worker to
// another. A replica that knows of no worker at all may be the only one: it hears no heartbeats.
func (e *Engine) own(err error) error {
	retry, ok := errors.AsType[*RetryableError](err)
	if !ok {
		return err
	}
	_, void := errors.AsType[*voidError](err)
	switch {
	case retry.Phase == phase.Pick && e.registry.AnyAlive():
	case retry.ReasonCode == job.ReasonTenantLimit, void && retry.Phase == phase.Publish:
	case errors.Is(err, errThrottled), safety.AboutRequest(err):
	case errors.Is(err, safety.ErrOpen) && e.settings.Policy.SharedBreaker: // a call of its own fails if this replica alone is cut off, too
	default:
		return err
	}
	return fmt.Errorf("%w: %w", recovery.ErrOwn, err)
}

// resume takes up a job that stays DISPATCHED. It takes the job's lock; a job that has moved on is
// left alone, unless it is past its deadline.
func (e *Engine) resume(ctx context.Context, jobID string) error {
	return e.withRecord(ctx, jobID, nil, func(ctx context.Context, rec *store.Record) error {
		if reason := e.pastDeadline(rec); reason != "" {
			return e.endOverdue(ctx, rec, reason)
		}
		if !e.resumable(rec) {
			return nil
		}
		return e.resumeIntent(ctx, &handling{rec: *rec})
	})
}
