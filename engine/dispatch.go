package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/routing"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// dispatch takes a SCHEDULED job to a worker, in the order that the settings say (Dispatch ordering).
func (e *Engine) dispatch(ctx context.Context, h *handling) error {
	pick, err := e.pick(ctx, h.constrained())
	if errors.Is(err, routing.ErrNoPoolMapping) {
		return e.fail(ctx, h.failure(job.ReasonNoPoolMapping, err.Error()))
	}
	if err != nil {
		return e.putOff(ctx, h, err, phase.Pick, e.reasonCode(err))
	}
	if err = e.countTenant(ctx, h); err == nil {
		switch e.settings.DispatchOrder {
		case settings.PublishFirst:
			err = e.publishFirst(ctx, h, pick.WorkerID)
		case settings.Outbox:
			err = e.intoOutbox(ctx, h, pick.WorkerID)
		default:
			err = e.stateFirst(ctx, h, pick.WorkerID)
		}
	}
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// stateFirst sets DISPATCHED before the publish, so that a redelivery cannot dispatch again, and
// rolls back when the publish fails. With resume_intents it rolls back only what the stream refused;
// otherwise the job stays DISPATCHED, and the redelivery resumes. A dispatch to a topic is rolled back
// in any case: nothing would keep its repetition from being stored twice, and it is at least once.
func (e *Engine) stateFirst(ctx context.Context, h *handling, workerID string) error {
	h.safe = e.replica.Since(ctx, h.req.JobID)
	if err := e.intend(ctx, h, store.Write{Worker: workerID}); err != nil {
		return err
	}
	worker, err := e.publish(ctx, h, workerID, h.rec.Epoch)
	v, void := errors.AsType[*voidError](err) // another had the lock meanwhile, and decided
	switch {
	case void && v.End == job.Scheduled:
		return e.busyRetry(ctx, err, phase.Publish, "")
	case void:
		return nil
	case errors.Is(err, errUnsafe) && e.resumable(&h.rec):
		return e.storeRetry(ctx, err, phase.ReplicaWait, "")
	case err != nil && e.resumable(&h.rec) && !bus.Refused(err):
		return e.publishRetry(ctx, h, err, h.rec.Attempts)
	case err != nil:
		return e.rollBack(ctx, h, err)
	}
	return e.running(ctx, h, worker)
}

// publishFirst is the alternative of Dispatch ordering: when the write fails, the redelivery dispatches again.
// With epochs it finds its dispatch in the stream instead, and writes down who has it; or the job's end, by
// whoever decided that and got no further.
func (e *Engine) publishFirst(ctx context.Context, h *handling, workerID string) error {
	worker, err := e.publish(ctx, h, workerID, e.nextEpoch(&h.rec))
	if v, ok := errors.AsType[*voidError](err); ok && v.End.Terminal() {
		return e.end(ctx, &h.rec, v.Void)
	}
	if err != nil {
		return e.publishRetry(ctx, h, err, h.rec.Attempts)
	}
	if err := e.intend(ctx, h, store.Write{Worker: worker}); err != nil {
		return err
	}
	return e.running(ctx, h, worker)
}

// errUnsafe says that a dispatch was not published, as what it follows from may be lost yet.
var errUnsafe = errors.New("not on a replica yet")

// publish publishes the dispatch of an epoch, once what it follows from is safe, and says who has it.
func (e *Engine) publish(ctx context.Context, h *handling, workerID string, epoch int64) (string, error) {
	entry, err := h.entry(workerID, epoch)
	if err != nil {
		return "", err
	}
	if h.safe != nil {
		if err := h.safe(ctx); err != nil {
			return "", fmt.Errorf("%w: %w", errUnsafe, err)
		}
	}
	return e.publishEntry(ctx, h.req.JobID, workerID, &entry, h.started)
}

// rollBack takes the job back to SCHEDULED, which counts another attempt; at the ceiling it ends
// the job instead, so that attempts never pass it. If the write fails the job may stay DISPATCHED
// to nobody, and its redelivery is a no-op (Dispatch ordering, residual risk window) unless it resumes.
func (e *Engine) rollBack(ctx context.Context, h *handling, cause error) error {
	if h.rec.Attempts >= e.settings.MaxSchedulingRetries {
		return e.fail(ctx, h.ceiling(job.ReasonDispatchFailed))
	}
	e.metrics.Rollbacks.WithLabelValues(h.req.Topic).Inc()
	retry := e.publishRetry(ctx, h, cause, h.rec.Attempts+1)
	if err := e.schedule(ctx, h, phase.RollbackWrite); err != nil {
		e.metrics.RollbacksFailed.WithLabelValues(h.req.Topic).Inc()
		e.logJob(ctx, slog.LevelError, "dispatch rollback failed", h.req.JobID, h.req.Topic, slog.Any("error", err))
		retry.Err, retry.Phase = errors.Join(cause, err), phase.RollbackWrite
	}
	return retry
}

// publishRetry is the documented back-off after a failed publish: the first is of the base delay.
func (e *Engine) publishRetry(ctx context.Context, h *handling, cause error, spent int) *RetryableError {
	retry := e.schedulingRetry(ctx, h, cause, phase.Publish, job.ReasonDispatchFailed, spent)
	if errors.Is(cause, bus.ErrStored) {
		retry.Phase = phase.PublishRead
	}
	return retry
}
