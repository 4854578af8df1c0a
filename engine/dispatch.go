package engine

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/faultline-sim/faultline/engine/bus"
	"github.com/faultline-sim/faultline/engine/job"
	"github.com/faultline-sim/faultline/engine/phase"
	"github.com/faultline-sim/faultline/engine/routing"
	"github.com/faultline-sim/faultline/engine/store"
)

// dispatch takes a SCHEDULED job to a worker, in the order that the settings say (seed 000).
func (e *Engine) dispatch(ctx context.Context, h *handling) error {
	pick, err := e.pick(ctx, h.req)
	if errors.Is(err, routing.ErrNoPoolMapping) {
		return e.fail(ctx, h.failure(job.ReasonNoPoolMapping, err.Error()))
	}
	if err != nil {
		return RetryAfter(err, e.settings.RetryDelayNoWorkers, phase.Pick, e.reasonCode(err))
	}
	switch e.settings.DispatchOrder {
	case PublishFirst:
		return e.publishFirst(ctx, h, pick)
	case Outbox:
		return e.intoOutbox(ctx, h, pick)
	default:
		return e.stateFirst(ctx, h, pick)
	}
}

// stateFirst sets DISPATCHED before the publish, so that a redelivery cannot dispatch again, and
// rolls back when the publish fails.
func (e *Engine) stateFirst(ctx context.Context, h *handling, pick routing.Pick) error {
	if err := e.dispatched(ctx, h, pick); err != nil {
		return err
	}
	if err := e.publish(ctx, h, pick); err != nil {
		return e.rollBack(ctx, h, err)
	}
	e.running(ctx, h)
	return nil
}

// publishFirst is the alternative of seed 000: when the write fails, the redelivery dispatches again.
func (e *Engine) publishFirst(ctx context.Context, h *handling, pick routing.Pick) error {
	if err := e.publish(ctx, h, pick); err != nil {
		return e.publishRetry(ctx, h, err)
	}
	if err := e.dispatched(ctx, h, pick); err != nil {
		return err
	}
	e.running(ctx, h)
	return nil
}

func (e *Engine) dispatched(ctx context.Context, h *handling, pick routing.Pick) error {
	return e.intend(ctx, h, store.Write{To: job.Dispatched, Worker: pick.WorkerID})
}

// intend writes DISPATCHED.
func (e *Engine) intend(ctx context.Context, h *handling, w store.Write) error {
	w.JobID, w.From = h.req.JobID, h.state
	if _, err := e.store.Write(phase.With(ctx, h.req.JobID, phase.DispatchedWrite), w); err != nil {
		return RetryAfter(err, e.settings.RetryDelayStore, phase.DispatchedWrite, "")
	}
	h.state = job.Dispatched
	return nil
}

// entry is the dispatch as it is published, now or from the outbox.
func (h *handling) entry(pick routing.Pick) (store.Entry, error) {
	body, err := json.Marshal(job.Dispatch{
		JobID: h.req.JobID, Topic: h.req.Topic, WorkerID: pick.WorkerID, Attempt: h.attempts,
		IdempotencyKey: h.req.IdempotencyKey, Payload: h.req.Payload, TraceID: h.req.TraceID,
	})
	return store.Entry{
		Subject: pick.Subject, Topic: h.req.Topic, Attempts: h.attempts, Started: h.started.UnixMilli(), Body: body,
	}, err
}

func (e *Engine) publish(ctx context.Context, h *handling, pick routing.Pick) error {
	entry, err := h.entry(pick)
	if err != nil {
		return err
	}
	return e.publishEntry(ctx, h.req.JobID, &entry, h.started)
}

// publishEntry publishes a dispatch of a handling that began at started.
func (e *Engine) publishEntry(ctx context.Context, jobID string, d *store.Entry, started time.Time) error {
	err := bus.Publish(phase.With(ctx, jobID, phase.Publish), e.js, d.Subject, jobID, d.Body, e.settings.PublishTimeout)
	if err != nil {
		e.log.LogAttrs(ctx, slog.LevelWarn, "dispatch publish failed",
			slog.String("job_id", jobID), slog.String("topic", d.Topic), slog.String("subject", d.Subject), slog.Any("error", err))
		return err
	}
	e.metrics.JobsDispatched.WithLabelValues(d.Topic).Inc()
	e.metrics.DispatchLatency.WithLabelValues(d.Topic).Observe(e.clock.Since(started).Seconds())
	e.log.LogAttrs(ctx, slog.LevelInfo, "job dispatched",
		slog.String("job_id", jobID), slog.String("topic", d.Topic), slog.String("subject", d.Subject),
		slog.Int("attempts", d.Attempts))
	return nil
}

// rollBack takes the job back to SCHEDULED, which counts another attempt; at the ceiling it ends
// the job instead, so that attempts never pass it. If the write fails the job may stay DISPATCHED
// to nobody, and its redelivery is a no-op (seed 000, residual risk window).
func (e *Engine) rollBack(ctx context.Context, h *handling, cause error) error {
	if h.attempts >= e.settings.MaxSchedulingRetries {
		return e.fail(ctx, h.ceiling())
	}
	e.metrics.Rollbacks.WithLabelValues(h.req.Topic).Inc()
	retry := e.publishRetry(ctx, h, cause)
	if err := e.schedule(ctx, h, phase.RollbackWrite); err != nil {
		e.metrics.RollbacksFailed.WithLabelValues(h.req.Topic).Inc()
		e.log.LogAttrs(ctx, slog.LevelError, "dispatch rollback failed",
			slog.String("job_id", h.req.JobID), slog.String("topic", h.req.Topic), slog.Any("error", err))
		retry.Err, retry.Phase = errors.Join(cause, err), phase.RollbackWrite
	}
	return retry
}

// publishRetry is the documented back-off after a failed publish: the first is of the base delay.
func (e *Engine) publishRetry(ctx context.Context, h *handling, cause error) *RetryableError {
	s := &e.settings
	random := e.random.Uint64(phase.With(ctx, h.req.JobID, phase.Publish))
	delay := backoffDelay(h.prior, s.BackoffBase, jitter(random, s.BackoffJitter), s.BackoffMax)
	return RetryAfter(cause, delay, phase.Publish, job.ReasonDispatchFailed)
}

// running notes that the job was published. A failure changes nothing for the worker, whose result
// is accepted from DISPATCHED too, so it is not retried.
func (e *Engine) running(ctx context.Context, h *handling) {
	_, err := e.store.Write(phase.With(ctx, h.req.JobID, phase.RunningWrite),
		store.Write{JobID: h.req.JobID, From: h.state, To: job.Running})
	if err != nil {
		e.metrics.RunningWritesFailed.WithLabelValues(h.req.Topic).Inc()
		e.log.LogAttrs(ctx, slog.LevelError, "running write failed",
			slog.String("job_id", h.req.JobID), slog.String("topic", h.req.Topic), slog.Any("error", err))
	}
}
