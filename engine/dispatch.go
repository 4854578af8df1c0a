package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

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
	if e.settings.DispatchOrder == PublishFirst {
		return e.publishFirst(ctx, h, pick)
	}
	return e.stateFirst(ctx, h, pick)
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
	_, err := e.store.Write(phase.With(ctx, h.req.JobID, phase.DispatchedWrite),
		store.Write{JobID: h.req.JobID, From: h.state, To: job.Dispatched, Worker: pick.WorkerID})
	if err != nil {
		return RetryAfter(err, e.settings.RetryDelayStore, phase.DispatchedWrite, "")
	}
	h.state = job.Dispatched
	return nil
}

func (e *Engine) publish(ctx context.Context, h *handling, pick routing.Pick) error {
	body, err := json.Marshal(job.Dispatch{
		JobID: h.req.JobID, Topic: h.req.Topic, WorkerID: pick.WorkerID, Attempt: h.attempts,
		IdempotencyKey: h.req.IdempotencyKey, Payload: h.req.Payload, TraceID: h.req.TraceID,
	})
	if err == nil {
		err = bus.Publish(phase.With(ctx, h.req.JobID, phase.Publish), e.js, pick.Subject, h.req.JobID, body, e.settings.PublishTimeout)
	}
	if err != nil {
		e.log.LogAttrs(ctx, slog.LevelWarn, "dispatch publish failed",
			slog.String("job_id", h.req.JobID), slog.String("topic", h.req.Topic), slog.String("subject", pick.Subject), slog.Any("error", err))
		return err
	}
	e.metrics.JobsDispatched.WithLabelValues(h.req.Topic).Inc()
	e.metrics.DispatchLatency.WithLabelValues(h.req.Topic).Observe(e.clock.Since(h.started).Seconds())
	e.log.LogAttrs(ctx, slog.LevelInfo, "job dispatched",
		slog.String("job_id", h.req.JobID), slog.String("topic", h.req.Topic), slog.String("subject", pick.Subject),
		slog.Int("attempts", h.attempts))
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

// errStale says that every pick met a worker past its TTL. To errors.Is it is ErrNoWorkers, as the
// documented classification has it (seed 002).
var errStale = fmt.Errorf("%w: stale worker", routing.ErrNoWorkers)

// pick chooses a worker that is alive, with a few immediate re-picks (seed 002). A topic subject
// bypasses the check: it names no worker.
func (e *Engine) pick(ctx context.Context, req *job.Request) (routing.Pick, error) {
	workers := e.registry.Snapshot()
	var err error
	for attempt := range e.settings.MaxDispatchRetries {
		if attempt > 0 {
			workers = e.registry.Snapshot()
		}
		var pick routing.Pick
		pick, err = e.strategy.PickSubject(req, workers)
		if err != nil {
			return routing.Pick{}, err
		}
		if pick.WorkerID == "" || e.registry.IsAlive(pick.WorkerID) {
			return pick, nil
		}
		err = fmt.Errorf("topic %q, worker %s: %w", req.Topic, pick.WorkerID, errStale)
		e.metrics.StaleWorkerRetries.WithLabelValues(req.Topic, pick.WorkerID).Inc()
		e.log.LogAttrs(ctx, slog.LevelWarn, "stale worker detected, retrying dispatch",
			slog.String("job_id", req.JobID), slog.String("topic", req.Topic), slog.String("worker_id", pick.WorkerID),
			slog.Int("dispatch_attempt", attempt))
	}
	return routing.Pick{}, err
}

// reasonCode maps a pick's error; what a stale worker is called is a setting (seed 002, next step 2).
func (e *Engine) reasonCode(err error) string {
	if errors.Is(err, errStale) {
		return e.settings.StaleReasonCode
	}
	return routing.ReasonCode(err)
}
