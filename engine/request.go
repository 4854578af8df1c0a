package engine

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// HandleJobRequest takes a job from its request to RUNNING, unless it is there already: a
// redelivery is a no-op for a job in flight or over (Dispatch ordering), save that with resume_intents it
// publishes what a worker's DISPATCHED job may not have had published. It returns nil when the request is
// done with, a *[RetryableError] when it must come back, and a *[bus.Poison] when it makes no sense.
func (e *Engine) HandleJobRequest(ctx context.Context, req job.Request) error {
	return e.handleRequest(ctx, &handling{req: &req, started: e.clock.Now()})
}

func (e *Engine) handleRequest(ctx context.Context, h *handling) error {
	req := h.req
	req.DefaultKey()
	if err := req.Validate(); err != nil {
		return &bus.Poison{ReasonCode: job.ReasonSchemaInvalid, Err: err}
	}
	e.metrics.JobsReceived.WithLabelValues(req.Topic).Inc()
	err := e.withJobLock(ctx, req.JobID, func(ctx context.Context) error { return e.handleJobRequest(ctx, h) })
	if h.entered {
		e.kick(req.JobID)
	}
	return e.retrying(ctx, req.JobID, req.Topic, err)
}

// handleJobRequest holds the job's lock.
func (e *Engine) handleJobRequest(ctx context.Context, h *handling) error {
	rec, err := e.readState(ctx, h)
	if err != nil {
		return err
	}
	if reason := e.pastDeadline(&rec); reason != "" && !h.guessed {
		return e.endOverdue(ctx, &rec, reason)
	}
	h.rec, h.prior = rec, rec.Attempts
	if rec.State == job.Dispatched && !h.guessed && e.resumable(&rec) {
		return e.resumeIntent(ctx, h)
	}
	switch {
	case rec.State == job.ApprovalRequired && !h.guessed:
		if goes, err := e.resumeApproved(ctx, h); !goes {
			return err
		}
	case rec.State == job.Scheduled, rec.State == job.Pending && e.safety == nil:
		if err := e.asRecorded(ctx, h); err != nil {
			return err
		}
	case !dispatchable(rec.State):
		return nil
	}
	if rec.State == job.Absent {
		if err := e.adopt(ctx, h); err != nil {
			return err
		}
	}
	if rec.Kept != nil {
		return e.handleJobCancel(ctx, rec.Kept, &h.rec)
	}
	if rec.Attempts >= e.settings.MaxSchedulingRetries {
		return e.fail(ctx, h.ceiling(job.ReasonDispatchFailed))
	}
	if goes, err := e.admit(ctx, h); !goes {
		return err
	}
	if err := e.schedule(ctx, h, phase.ScheduledWrite); err != nil {
		return e.writeRetry(ctx, err, phase.ScheduledWrite, "")
	}
	if h.orphan != "" {
		e.orphanReplayed(ctx, h)
	}
	if h.rec.Attempts > e.settings.MaxSchedulingRetries {
		return e.fail(ctx, h.ceiling(job.ReasonDispatchFailed)) // only if the record could not be read before
	}
	return e.dispatch(ctx, h)
}

// adopt writes PENDING for a job without a record.
func (e *Engine) adopt(ctx context.Context, h *handling) error {
	packet, err := json.Marshal(h.req)
	if err != nil {
		return &bus.Poison{ReasonCode: job.ReasonSchemaInvalid, Err: err}
	}
	out, err := e.store.Adopt(phase.With(ctx, h.req.JobID, phase.PendingWrite), h.req, packet)
	if err = e.fenced(ctx, err, phase.PendingWrite, h.req.JobID, h.req.Topic, job.Pending); err != nil {
		return e.writeRetry(ctx, err, phase.PendingWrite, "")
	}
	h.rec.Moved(&store.Write{To: job.Pending}, out)
	return nil
}

// orphanReplayed counts a job that the replayer has just scheduled, and not one that it found, under the
// lock, in another's hands or in no need of it.
func (e *Engine) orphanReplayed(ctx context.Context, h *handling) {
	e.metrics.OrphansReplayed.WithLabelValues(h.req.Topic).Inc()
	e.logJob(ctx, slog.LevelWarn, "orphan replayed", h.req.JobID, h.req.Topic, slog.String("state", string(h.orphan)))
}
