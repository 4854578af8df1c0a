package engine

import (
	"context"
	"errors"
	"log/slog"

	"github.com/faultline-sim/faultline/engine/phase"
	"github.com/faultline-sim/faultline/engine/store"
)

// move makes a write of the job that rec is about, and brings rec up to date. The caller holds the
// job's lock.
func (e *Engine) move(ctx context.Context, p phase.Phase, rec *store.Record, w store.Write) error {
	out, err := e.store.Write(phase.With(ctx, rec.JobID, p), w)
	if err == nil {
		rec.Moved(&w, out)
		e.jobOver(rec)
		return nil
	}
	if errors.Is(err, store.ErrFenced) {
		e.metrics.FencedWrites.WithLabelValues(rec.Topic, string(p)).Inc()
		e.log.LogAttrs(ctx, slog.LevelWarn, "state write fenced",
			slog.String("job_id", rec.JobID), slog.String("topic", rec.Topic), slog.String("phase", string(p)), slog.String("to", string(w.To)))
	}
	return err
}

// writeRetry sends a message back whose write was not made, or may not have been. One that the fence
// stopped has met another holder of the job's lock.
func (e *Engine) writeRetry(ctx context.Context, err error, p phase.Phase, reasonCode string) *RetryableError {
	if errors.Is(err, store.ErrFenced) {
		return e.busyRetry(ctx, err, p, reasonCode)
	}
	return e.storeRetry(ctx, err, p, reasonCode)
}
