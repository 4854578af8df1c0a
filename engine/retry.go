package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/phase"
)

// RetryableError says that a message could not be handled now and when it should come back: the
// retry event of Dispatch ordering and Scheduler internals.
type RetryableError struct {
	Err        error
	Delay      time.Duration
	Phase      phase.Phase // what failed (Dispatch ordering, next step 2)
	ReasonCode string      // why no worker could be had, or dispatch_failed; empty for a failure of the store
}

// RetryAfter wraps err to come back after delay.
func RetryAfter(err error, delay time.Duration, p phase.Phase, reasonCode string) *RetryableError {
	return &RetryableError{Err: err, Delay: delay, Phase: p, ReasonCode: reasonCode}
}

// retryDelayTerminate is the delay of a message that can never be handled and could not be put into the DLQ
// (Scheduler internals, section 9, DLQ-first termination).
const retryDelayTerminate = 5 * time.Second

// storeRetry puts off what met a failure of the store or the stream.
func (e *Engine) storeRetry(ctx context.Context, err error, p phase.Phase, reasonCode string) *RetryableError {
	return RetryAfter(err, e.infrastructureDelay(ctx, e.settings.RetryDelayStore), p, reasonCode)
}

// noticeRetry puts off what met a failed publish that is not a dispatch: those have a back-off of their
// own (Dispatch ordering).
func (e *Engine) noticeRetry(ctx context.Context, err error, p phase.Phase) *RetryableError {
	return RetryAfter(err, e.infrastructureDelay(ctx, e.settings.RetryDelayPublish), p, "")
}

// busyRetry puts off what met another holder of the job's lock.
func (e *Engine) busyRetry(ctx context.Context, err error, p phase.Phase, reasonCode string) *RetryableError {
	return RetryAfter(err, e.infrastructureDelay(ctx, e.settings.RetryDelayBusy), p, reasonCode)
}

// schedulingRetry puts off a job for a reason that may pass (Scheduler internals, section 5). spent is how many attempts
// the handling leaves it with.
func (e *Engine) schedulingRetry(ctx context.Context, h *handling, cause error, p phase.Phase, reasonCode string, spent int) *RetryableError {
	delay := schedulingDelay(&e.settings, reasonCode, h.prior, spent, func() time.Duration {
		return jitter(e.random.Uint64(phase.With(ctx, h.req.JobID, p)), e.settings.BackoffJitter)
	})
	return RetryAfter(cause, delay, p, reasonCode)
}

// infrastructureDelay is that of the message in hand.
func (e *Engine) infrastructureDelay(ctx context.Context, base time.Duration) time.Duration {
	return infrastructureDelay(&e.settings, bus.Deliveries(ctx), base)
}

// wait lets d pass on the engine's clock, or returns ctx's error if that ends first.
func (e *Engine) wait(ctx context.Context, d time.Duration) error {
	timer := e.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.Chan():
		return nil
	}
}

func (e *RetryableError) Error() string {
	return fmt.Sprintf("%s: %v (retry after %v)", e.Phase, e.Err, e.Delay)
}

func (e *RetryableError) Unwrap() error { return e.Err }

// RetryDelay is how long the message is to stay away; package bus asks for it.
func (e *RetryableError) RetryDelay() time.Duration { return e.Delay }

// retrying logs and counts a retry event with its phase (Dispatch ordering, next step 2), and passes err on.
func (e *Engine) retrying(ctx context.Context, jobID, topic string, err error) error {
	var r *RetryableError
	if !errors.As(err, &r) {
		return err
	}
	e.metrics.Retries.WithLabelValues(topic, string(r.Phase), r.ReasonCode).Inc()
	attrs := []slog.Attr{slog.String("job_id", jobID), slog.String("topic", topic), slog.String("phase", string(r.Phase))}
	if r.ReasonCode != "" {
		attrs = append(attrs, slog.String("reason_code", r.ReasonCode))
	}
	e.log.LogAttrs(ctx, slog.LevelWarn, "retrying later", append(attrs, slog.Duration("delay", r.Delay), slog.Any("error", r.Err))...)
	return err
}
