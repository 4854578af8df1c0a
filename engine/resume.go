package engine

import (
	"context"
	"errors"

	"github.com/faultline-sim/faultline/engine/job"
	"github.com/faultline-sim/faultline/engine/metrics"
	"github.com/faultline-sim/faultline/engine/phase"
	"github.com/faultline-sim/faultline/engine/store"
)

// resumes says whether a DISPATCHED job is published by whoever finds it so. In the outbox order its
// entry is there to see to that.
func (e *Engine) resumes() bool {
	return e.settings.ResumeIntents && e.settings.DispatchOrder != Outbox
}

// resume takes up a job that stays DISPATCHED. It takes the job's lock; a job that has moved on is
// left alone.
func (e *Engine) resume(ctx context.Context, jobID string) error {
	topic := metrics.UnknownTopic
	err := e.withJobLock(ctx, jobID, func(ctx context.Context) error {
		rec, err := e.store.Read(phase.With(ctx, jobID, phase.StateRead), jobID)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return e.failClosed(ctx, phase.StateRead, jobID, topic, err)
		}
		topic = rec.Topic
		if rec.State != job.Dispatched || !e.resumes() {
			return nil
		}
		return e.resumeIntent(ctx, &handling{rec: rec, started: e.clock.Now()})
	})
	return e.retrying(ctx, jobID, topic, err)
}

// resumeIntent holds the lock of a DISPATCHED job. It publishes the dispatch that the record describes:
// the same worker, epoch and attempts. It never rolls back, whatever the stream says: an earlier
// publish, of which nobody heard, may have been stored.
func (e *Engine) resumeIntent(ctx context.Context, h *handling) error {
	req, err := h.rec.Request()
	if err != nil {
		return RetryAfter(err, e.settings.RetryDelayStore, phase.Publish, job.ReasonDispatchFailed)
	}
	h.req, h.prior = &req, h.rec.Attempts
	worker, err := e.publish(ctx, h, h.rec.Worker, h.rec.Epoch)
	if errors.Is(err, errVoid) {
		return nil
	}
	if err != nil {
		return e.publishRetry(ctx, h, err)
	}
	e.metrics.IntentsResumed.WithLabelValues(h.rec.Topic).Inc()
	return e.running(ctx, h, worker)
}
