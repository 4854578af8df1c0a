package engine

import (
	"context"
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// readState is the redelivery gate's read: the job's record, or an empty one for a job without. What
// it returns when the state cannot be read is a setting (State-read errors); an error is a retry event.
func (e *Engine) readState(ctx context.Context, h *handling) (store.Record, error) {
	rec, err := e.store.Read(phase.With(ctx, h.req.JobID, phase.StateRead), h.req.JobID)
	reads := e.metrics.StateReads.MustCurryWith(prometheus.Labels{"topic": h.req.Topic})
	switch {
	case err == nil:
		reads.WithLabelValues(metrics.ReadDone).Inc()
		return rec, nil
	case errors.Is(err, store.ErrNotFound):
		reads.WithLabelValues(metrics.ReadDone).Inc()
		absent := h.absent()
		absent.Kept = rec.Kept
		return absent, nil
	case e.settings.ReadError == settings.FailOpen:
		e.logJob(ctx, slog.LevelError, "state read failed, failing open", h.req.JobID, h.req.Topic, slog.Any("error", err))
		return h.absent(), nil
	case e.settings.ReadError == settings.CachedState:
		if known, ok := e.store.Cache.Recall(h.req.JobID); ok {
			return e.byCache(ctx, h, known, err), nil
		}
	}
	reads.WithLabelValues(metrics.ReadFailedClosed).Inc()
	return store.Record{}, e.failClosed(ctx, phase.StateRead, h.req.JobID, h.req.Topic, err)
}

// byCache takes the cached state for the job's. It may be stale: what another replica has written
// since, this one has not heard of (State-read errors, false confidence).
func (e *Engine) byCache(ctx context.Context, h *handling, known store.Known, err error) store.Record {
	decision := metrics.DecisionSkip
	if dispatchable(known.State) {
		decision = metrics.DecisionProceed
	}
	e.metrics.StateReadsCached.WithLabelValues(h.req.Topic, decision).Inc()
	e.logJob(ctx, slog.LevelWarn, "state read failed, deciding by the cached state", h.req.JobID, h.req.Topic,
		slog.String("state", string(known.State)), slog.Duration("age", known.Age), slog.String("decision", decision), slog.Any("error", err))
	h.guessed = true
	rec := h.absent()
	rec.State, rec.Attempts, rec.Decided = known.State, known.Attempts, known.Decided
	return rec
}

// absent is a record of which nothing is known but the request.
func (h *handling) absent() store.Record {
	return store.Record{JobID: h.req.JobID, Topic: h.req.Topic, Tenant: h.req.Tenant}
}

// failClosed puts off a job whose state is unknown (State-read errors).
func (e *Engine) failClosed(ctx context.Context, p phase.Phase, jobID, topic string, err error) error {
	e.logJob(ctx, slog.LevelError, "state read failed, failing closed", jobID, topic, slog.Any("error", err))
	e.metrics.StateReadsFailClosed.WithLabelValues(topic).Inc()
	return e.storeRetry(ctx, err, p, "")
}

// withRecord calls fn with what the job's record says under its lock. A job without one is put off, after a call of
// absent: its request may be on its way still. Without absent such a job is left alone.
func (e *Engine) withRecord(ctx context.Context, jobID string, absent func(ctx context.Context) error, fn func(ctx context.Context, rec *store.Record) error) error {
	topic := metrics.UnknownTopic
	err := e.withJobLock(ctx, jobID, func(ctx context.Context) error {
		rec, err := e.store.Read(phase.With(ctx, jobID, phase.StateRead), jobID)
		if errors.Is(err, store.ErrNotFound) && absent == nil {
			return nil
		}
		if errors.Is(err, store.ErrNotFound) {
			return e.storeRetry(ctx, errors.Join(err, absent(ctx)), phase.StateRead, "")
		}
		if err != nil {
			return e.failClosed(ctx, phase.StateRead, jobID, topic, err)
		}
		topic = rec.Topic
		return fn(ctx, &rec)
	})
	return e.retrying(ctx, jobID, topic, err)
}

// dispatchable says whether a request for a job in s is still to be handled. One in flight, over, or
// parked for an approval is not.
func dispatchable(s job.State) bool {
	return s == job.Absent || s == job.Pending || s == job.Scheduled
}
