package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/store"
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
	return e.fenced(ctx, err, p, rec.JobID, rec.Topic, w.To)
}

// fenced counts a write that the fence stopped, and passes its error on.
func (e *Engine) fenced(ctx context.Context, err error, p phase.Phase, jobID, topic string, to job.State) error {
	if errors.Is(err, store.ErrFenced) {
		e.metrics.FencedWrites.WithLabelValues(topic, string(p)).Inc()
		e.logJob(ctx, slog.LevelWarn, "state write fenced", jobID, topic, slog.String("phase", string(p)), slog.String("to", string(to)))
	}
	return err
}

// stillHeld comes before what no fence stops: a void, or a word to a worker. It fails, as a fenced write does, once
// the lock under which the handling began has run out by this replica's own clock.
//
// A pause between this and the publish remains. What it lets through is still true: a void is of the
// epoch that was read, of which the stream keeps one message, and says what was to be of the job
// as it was then; whoever has the lock meets it, and finishes it. At worst a job is picked once more.
func (e *Engine) stillHeld(ctx context.Context, p phase.Phase) error {
	if k := lock.Held(ctx); e.settings.Fence && k != nil && k.Expired() {
		return e.busyRetry(ctx, fmt.Errorf("lock %s has expired: %w", k.Key(), store.ErrFenced), p, "")
	}
	return nil
}

// writeRetry sends a message back whose write was not made, or may not have been. One that the fence
// stopped has met another holder of the job's lock.
func (e *Engine) writeRetry(ctx context.Context, err error, p phase.Phase, reasonCode string) *RetryableError {
	if errors.Is(err, store.ErrFenced) {
		return e.busyRetry(ctx, err, p, reasonCode)
	}
	return e.storeRetry(ctx, err, p, reasonCode)
}

// logJob says in the log what has become of a job.
func (e *Engine) logJob(ctx context.Context, level slog.Level, what, jobID, topic string, attrs ...slog.Attr) {
	if e.log.Enabled(ctx, level) {
		e.log.LogAttrs(ctx, level, what, append([]slog.Attr{slog.String("job_id", jobID), slog.String("topic", topic)}, attrs...)...)
	}
}
