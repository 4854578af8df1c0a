package engine

import (
	"context"
	"log/slog"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// end takes a job to the end that v decided; a v that decided none leaves it where it is. The caller
// holds the job's lock.
func (e *Engine) end(ctx context.Context, rec *store.Record, v job.Void) error {
	switch v.End {
	case job.Cancelled:
		return e.writeCancelled(ctx, rec, rec.Move(job.Cancelled), v.Reason)
	case job.Timeout:
		return e.writeTimeout(ctx, rec, rec.Move(job.Timeout), v.Reason)
	}
	return nil
}

func (e *Engine) writeCancelled(ctx context.Context, rec *store.Record, w store.Write, reason string) error {
	w.Reason, w.ReasonCode = reason, job.ReasonCancelled
	if err := e.move(ctx, phase.CancelWrite, rec, w); err != nil {
		return e.writeRetry(ctx, err, phase.CancelWrite, job.ReasonCancelled)
	}
	e.metrics.JobsCompleted.WithLabelValues(rec.Topic, string(job.Cancelled)).Inc()
	e.logJob(ctx, slog.LevelInfo, "job cancelled", rec.JobID, rec.Topic, slog.String("reason", reason))
	return nil
}

func (e *Engine) writeTimeout(ctx context.Context, rec *store.Record, w store.Write, reason string) error {
	from := rec.State
	w.Reason, w.ReasonCode = reason, job.ReasonTimeout
	if err := e.move(ctx, phase.TimeoutWrite, rec, w); err != nil {
		return e.writeRetry(ctx, err, phase.TimeoutWrite, job.ReasonTimeout)
	}
	e.metrics.JobsCompleted.WithLabelValues(rec.Topic, string(job.Timeout)).Inc()
	e.logJob(ctx, slog.LevelError, "job timed out", rec.JobID, rec.Topic,
		slog.String("from", string(from)), slog.String("worker_id", rec.Worker), slog.String("reason", reason))
	return nil
}
