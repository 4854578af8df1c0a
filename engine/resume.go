package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/recovery"
)

// resumeIntent holds the lock of a DISPATCHED job. It publishes the dispatch that the record describes:
// the same worker, epoch and attempts. It does not roll back what the stream refuses, since an earlier
// publish, of which nobody heard, may have been stored; only a void makes sure of that. How long the
// dispatch has taken counts from DISPATCHED.
func (e *Engine) resumeIntent(ctx context.Context, h *handling) error {
	req, err := h.rec.Request()
	if err != nil {
		return e.storeRetry(ctx, fmt.Errorf("%w: %w", recovery.ErrOwn, err), phase.Publish, job.ReasonDispatchFailed)
	}
	h.req, h.prior, h.started, h.safe = &req, h.rec.Attempts, h.rec.UpdatedAt, e.replica.Since(ctx, req.JobID)
	if e.voids(&h.rec) && !e.registry.IsAlive(h.rec.Worker) {
		return e.repick(ctx, h, "worker "+h.rec.Worker+" is not alive")
	}
	worker, err := e.publish(ctx, h, h.rec.Worker, h.rec.Epoch)
	if v, ok := errors.AsType[*voidError](err); ok {
		return e.finish(ctx, h, v.Void)
	}
	if err != nil {
		return e.resumedInVain(ctx, h, err)
	}
	e.metrics.IntentsResumed.WithLabelValues(h.rec.Topic).Inc()
	return e.running(ctx, h, worker)
}

// resumedInVain puts off a publish that has failed again. With even_backoff the job goes back to SCHEDULED once the
// longest delay has passed, which counts an attempt: else the attempts of a job whose publishes fail would last for hours. What
// is not safe yet has not been published at all, and no other worker would do better.
func (e *Engine) resumedInVain(ctx context.Context, h *handling, cause error) error {
	if errors.Is(cause, errUnsafe) {
		return e.storeRetry(ctx, cause, phase.ReplicaWait, "")
	}
	if !errors.Is(cause, bus.ErrStored) && e.settings.EvenBackoff && e.voids(&h.rec) && e.clock.Since(h.rec.UpdatedAt) >= e.settings.BackoffMax {
		return e.repick(ctx, h, "it could not be published")
	}
	return e.publishRetry(ctx, h, cause, h.rec.Attempts)
}

// repick takes the job away from a worker that is not alive or cannot be reached, unless that has been given it: a
// dispatch to a dead one would lie in its stream until the running timeout.
func (e *Engine) repick(ctx context.Context, h *handling, why string) error {
	decided, worker, err := e.void(ctx, &h.rec, job.Void{End: job.Scheduled, Reason: why})
	if err != nil {
		return err
	}
	if worker != "" {
		return e.running(ctx, h, worker)
	}
	return e.finish(ctx, h, decided)
}

// finish takes the job where the void in its dispatch's place says. One that is to go to another worker
// goes back to SCHEDULED; its message, or the replayer, picks again.
func (e *Engine) finish(ctx context.Context, h *handling, v job.Void) error {
	if v.End == job.Scheduled {
		return e.rollBack(ctx, h, &voidError{v})
	}
	return e.end(ctx, &h.rec, v)
}
