package engine

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// HandleJobResult takes a job to the terminal state that a worker's result says. A result of a job
// that is over is ignored (Scheduler internals, section 1). Its errors are those of [Engine.HandleJobRequest].
func (e *Engine) HandleJobResult(ctx context.Context, res job.Result) error {
	if err := res.Validate(); err != nil {
		return &bus.Poison{ReasonCode: job.ReasonSchemaInvalid, Err: err}
	}
	return e.withRecord(ctx, res.JobID, func(context.Context) error { return nil }, func(ctx context.Context, rec *store.Record) error {
		return e.handleJobResult(ctx, &res, rec)
	})
}

// handleJobResult holds the job's lock.
func (e *Engine) handleJobResult(ctx context.Context, res *job.Result, rec *store.Record) error {
	if rec.State.Terminal() {
		if err := e.undoableAfterAll(ctx, res, rec); err != nil {
			return err
		}
		return e.succeededAfterAll(ctx, res, rec)
	}
	if e.settings.RefuseStaleResults && res.Epoch < rec.Epoch {
		// The dispatch that it answers was given up for another, which the job is waiting for.
		e.metrics.StaleResults.WithLabelValues(rec.Topic).Inc()
		e.logJob(ctx, slog.LevelWarn, "stale result ignored", res.JobID, rec.Topic,
			slog.String("worker_id", res.WorkerID), slog.Int64("epoch", res.Epoch), slog.Int64("record_epoch", rec.Epoch))
		return nil
	}
	if !rec.State.InFlight() {
		// The result is ahead of the state: of a dispatch that was published and rolled back.
		err := fmt.Errorf("result %s of a job that is %s", res.Status, rec.State)
		return e.storeRetry(ctx, err, phase.ResultWrite, "")
	}
	to := res.Status.State()
	req, err := rec.Request()
	if err != nil { // a job's end is worth having without what its request asks for besides
		e.log.LogAttrs(ctx, slog.LevelWarn, "request cannot be read back", slog.String("job_id", res.JobID), slog.Any("error", err))
	}
	if to == job.Failed {
		return e.failResult(ctx, res, rec, &req)
	}
	record, err := e.record(ctx, res, &req)
	if err != nil {
		return err
	}
	w := rec.Move(to)
	w.Reason, w.ReasonCode, w.Also = res.Reason, res.ReasonCode, together(record, e.commits(to, rec))
	w.ResultPtr = res.ResultPtr
	if to == job.Succeeded {
		blocked, err := e.checkOutput(ctx, res, rec, &w)
		if err != nil {
			return err
		}
		if blocked != nil {
			err := e.block(ctx, blocked)
			e.recorded(record, rec)
			return err
		}
	}
	if err := e.move(ctx, phase.ResultWrite, rec, w); err != nil {
		return e.writeRetry(ctx, err, phase.ResultWrite, "")
	}
	e.recorded(record, rec)
	e.metrics.JobsCompleted.WithLabelValues(rec.Topic, string(to)).Inc()
	e.logJob(ctx, slog.LevelInfo, "job completed", res.JobID, rec.Topic, slog.String("state", string(to)), slog.String("worker_id", res.WorkerID))
	e.scanLater(ctx, rec)
	return nil
}

// failResult ends the job of a worker's failure, and begins to roll its workflow back if that is fatal.
func (e *Engine) failResult(ctx context.Context, res *job.Result, rec *store.Record, req *job.Request) error {
	code := res.ReasonCode
	if code == "" {
		code = job.ReasonDispatchFailed
	}
	err := e.fail(ctx, failure{
		phase: phase.ResultWrite, rec: rec, topic: rec.Topic, key: req.IdempotencyKey,
		code: code, reason: res.Reason, labels: req.Labels, also: e.noteRollback(res, req),
		final: res.Status == job.StatusFailedFatal,
		fatal: e.runs != nil && res.Status == job.StatusFailedFatal && req.WorkflowID != "",
	})
	if rec.State == job.Failed { // though its DLQ entry may still be to come
		e.rollBackSaga(ctx, res, req)
	}
	return err
}
