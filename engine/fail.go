package engine

import (
	"context"
	"log/slog"

	"github.com/faultline-sim/faultline/engine/dlq"
	"github.com/faultline-sim/faultline/engine/job"
	"github.com/faultline-sim/faultline/engine/phase"
	"github.com/faultline-sim/faultline/engine/store"
)

// failure is a job on its way to FAILED and the DLQ.
type failure struct {
	phase    phase.Phase // of the state write
	jobID    string
	from     job.State
	guessed  bool
	topic    string
	key      string // idempotency key
	attempts int
	code     string
	reason   string
}

// fail writes FAILED, then the DLQ entry. This is the documented order, caveat included (seed 004):
// if the entry cannot be written, the redelivery sees a terminal state, and the entry is lost.
func (e *Engine) fail(ctx context.Context, f failure) error {
	_, err := e.store.Write(phase.With(ctx, f.jobID, f.phase),
		store.Write{JobID: f.jobID, From: f.from, Guessed: f.guessed, To: job.Failed, Reason: f.reason, ReasonCode: f.code})
	if err != nil {
		return RetryAfter(err, e.settings.RetryDelayStore, f.phase, f.code)
	}
	e.metrics.JobsCompleted.WithLabelValues(f.topic, string(job.Failed)).Inc()
	e.log.LogAttrs(ctx, slog.LevelError, "job failed",
		slog.String("job_id", f.jobID), slog.String("topic", f.topic), slog.String("reason_code", f.code),
		slog.String("reason", f.reason), slog.Int("attempts", f.attempts))
	err = e.dlq.Add(phase.With(ctx, f.jobID, phase.DLQWrite), dlq.Entry{
		JobID:          f.jobID,
		Topic:          f.topic,
		Status:         string(job.Failed),
		ReasonCode:     f.code,
		Reason:         f.reason,
		Attempts:       f.attempts,
		IdempotencyKey: f.key,
		ReplayStatus:   dlq.PendingReview,
	})
	if err != nil {
		e.metrics.DLQWritesFailed.WithLabelValues(f.topic).Inc()
		e.log.LogAttrs(ctx, slog.LevelError, "dlq write failed",
			slog.String("job_id", f.jobID), slog.String("topic", f.topic), slog.Any("error", err))
		return RetryAfter(err, e.settings.RetryDelayStore, phase.DLQWrite, f.code)
	}
	return nil
}
