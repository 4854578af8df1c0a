package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/routing"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// entry is the dispatch as it is published, now or from the outbox. Without a worker it goes to the
// topic, whose subject names no job: such a dispatch carries its epoch, and no compare-and-set keeps
// it from being stored twice.
func (h *handling) entry(workerID string, epoch int64) (store.Entry, error) {
	body, err := json.Marshal(job.Dispatch{
		JobID: h.req.JobID, Topic: h.req.Topic, Tenant: h.req.Tenant, WorkerID: workerID, Attempt: h.rec.Attempts, Epoch: epoch,
		IdempotencyKey: h.req.IdempotencyKey, Payload: h.req.Payload, TraceID: h.req.TraceID,
		Labels: h.req.Labels, Env: h.req.Env,
	})
	entry := store.Entry{Topic: h.req.Topic, Attempts: h.rec.Attempts, Epoch: epoch, Started: h.started.UnixMilli(), Body: body}
	switch {
	case workerID == "":
		entry.Subject = h.req.Topic
	case epoch == 0:
		entry.Subject = routing.DirectSubject(workerID)
	default:
		entry.Subject, entry.Once = bus.EpochSubject(workerID, h.req.JobID, epoch), true
	}
	return entry, err
}

// publishEntry publishes a dispatch of a handling that began at started, and returns the worker who
// has it. With epochs that may be another than workerID, if an earlier publish of the epoch was stored
// after all; a void in its place is a *voidError. An error that is bus.ErrStored could not tell which.
func (e *Engine) publishEntry(ctx context.Context, jobID, workerID string, d *store.Entry, started time.Time) (string, error) {
	err := bus.Publish(phase.With(ctx, jobID, phase.Publish), e.js,
		bus.Message{Subject: d.Subject, JobID: jobID, Epoch: d.Epoch, ID: e.messageID(jobID, d), Once: d.Once, Body: d.Body}, e.settings.PublishTimeout)
	switch {
	case errors.Is(err, bus.ErrStored):
		return e.alreadyStored(ctx, jobID, d, err)
	case errors.Is(err, bus.ErrDuplicate): // to the alternative as it is described, the publish has succeeded
		e.metrics.DuplicatePublishes.WithLabelValues(d.Topic).Inc()
		e.logJob(ctx, slog.LevelWarn, "dispatch not stored", jobID, d.Topic, slog.String("subject", d.Subject), slog.Any("error", err))
		return workerID, nil
	case err != nil:
		e.logJob(ctx, slog.LevelWarn, "dispatch publish failed", jobID, d.Topic, slog.String("subject", d.Subject), slog.Any("error", err))
		return "", err
	}
	e.metrics.JobsDispatched.WithLabelValues(d.Topic).Inc()
	e.metrics.DispatchLatency.WithLabelValues(d.Topic).Observe(max(0, e.clock.Since(started).Seconds())) // another replica's clock may have told when it began
	e.logJob(ctx, slog.LevelInfo, "job dispatched", jobID, d.Topic, slog.String("subject", d.Subject), slog.Int("attempts", d.Attempts))
	return workerID, nil
}

// messageID is what the stream knows a dispatch's repetition by. A dispatch with an epoch has none: it is
// told from those of other epochs by its subject, or goes to a topic, which nothing covers.
func (e *Engine) messageID(jobID string, d *store.Entry) string {
	if e.settings.PublishDedup != settings.MessageID || d.Epoch != 0 {
		return ""
	}
	return jobID
}

// alreadyStored finds out what the stream holds in the place of a dispatch that it refused.
func (e *Engine) alreadyStored(ctx context.Context, jobID string, d *store.Entry, refusal error) (string, error) {
	held, err := e.readEpoch(ctx, jobID, d.Epoch)
	if err != nil {
		return "", errors.Join(refusal, err)
	}
	if held.Void != nil {
		e.logJob(ctx, slog.LevelInfo, "dispatch is void", jobID, d.Topic, slog.Int64("epoch", d.Epoch), slog.String("to", string(held.Void.End)))
		return "", &voidError{*held.Void}
	}
	e.logJob(ctx, slog.LevelInfo, "job was dispatched before", jobID, d.Topic, slog.String("worker_id", held.WorkerID), slog.Int64("epoch", d.Epoch))
	return held.WorkerID, nil
}

func (e *Engine) readEpoch(ctx context.Context, jobID string, epoch int64) (bus.Stored, error) {
	ctx = phase.With(ctx, jobID, phase.PublishRead)
	jobs, err := e.jobsStream(ctx)
	if err != nil {
		return bus.Stored{}, err
	}
	return bus.ReadEpoch(ctx, jobs, jobID, epoch, e.settings.PublishTimeout)
}

// jobsStream returns the stream of dispatches, which Run has looked up unless the caller handles
// messages without it.
func (e *Engine) jobsStream(ctx context.Context) (jetstream.Stream, error) {
	if s := e.jobs.Load(); s != nil {
		return *s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.settings.PublishTimeout)
	defer cancel()
	s, err := e.js.Stream(ctx, bus.StreamJobs)
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", bus.StreamJobs, err)
	}
	e.jobs.Store(&s)
	return s, nil
}
