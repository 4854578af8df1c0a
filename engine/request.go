package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/faultline-sim/faultline/engine/bus"
	"github.com/faultline-sim/faultline/engine/job"
	"github.com/faultline-sim/faultline/engine/phase"
	"github.com/faultline-sim/faultline/engine/store"
)

// HandleJobRequest takes a job from its request to RUNNING, unless it is there already: a
// redelivery is a no-op for a job in flight or over (seed 000). It returns nil when the request is
// done with, a *[RetryableError] when it must come back, and a *[bus.Poison] when it makes no sense.
func (e *Engine) HandleJobRequest(ctx context.Context, req job.Request) error {
	if err := req.Validate(); err != nil {
		return &bus.Poison{ReasonCode: job.ReasonSchemaInvalid, Err: err}
	}
	h := &handling{req: &req, started: e.clock.Now()}
	e.metrics.JobsReceived.WithLabelValues(req.Topic).Inc()
	err := e.withJobLock(ctx, req.JobID, func(ctx context.Context) error { return e.handleJobRequest(ctx, h) })
	if h.entered {
		e.kick(req.JobID)
	}
	return e.retrying(ctx, req.JobID, req.Topic, err)
}

// handling is what one handling of a request knows.
type handling struct {
	req      *job.Request
	started  time.Time
	state    job.State // as read, then as written
	guessed  bool      // the state is the cache's word, not read
	prior    int       // attempts before this handling
	attempts int       // attempts now
	entered  bool      // its dispatch is in the outbox
}

// failure is the job as the FAILED write and the DLQ see it.
func (h *handling) failure(code, reason string) failure {
	return failure{
		phase: phase.FailedWrite, jobID: h.req.JobID, from: h.state, guessed: h.guessed, topic: h.req.Topic, key: h.req.IdempotencyKey,
		attempts: h.attempts, code: code, reason: reason,
	}
}

func (h *handling) ceiling() failure {
	return h.failure(job.ReasonMaxSchedulingRetries, fmt.Sprintf("max scheduling retries exceeded (attempts=%d)", h.attempts))
}

// handleJobRequest holds the job's lock.
func (e *Engine) handleJobRequest(ctx context.Context, h *handling) error {
	rec, err := e.readState(ctx, h)
	if err != nil {
		return err
	}
	if !dispatchable(rec.State) {
		return nil
	}
	h.state, h.prior, h.attempts = rec.State, rec.Attempts, rec.Attempts
	if h.attempts >= e.settings.MaxSchedulingRetries {
		return e.fail(ctx, h.ceiling())
	}
	if h.state == job.Absent {
		if err := e.adopt(ctx, h); err != nil {
			return err
		}
	}
	if err := e.schedule(ctx, h, phase.ScheduledWrite); err != nil {
		return RetryAfter(err, e.settings.RetryDelayStore, phase.ScheduledWrite, "")
	}
	if h.attempts > e.settings.MaxSchedulingRetries {
		return e.fail(ctx, h.ceiling()) // only if the record could not be read before
	}
	return e.dispatch(ctx, h)
}

// dispatchable says whether a request for a job in s is still to be handled. One in flight, over, or
// parked for an approval is not.
func dispatchable(s job.State) bool {
	return s == job.Absent || s == job.Pending || s == job.Scheduled
}

// adopt writes PENDING for a job without a record.
func (e *Engine) adopt(ctx context.Context, h *handling) error {
	packet, err := json.Marshal(h.req)
	if err != nil {
		return &bus.Poison{ReasonCode: job.ReasonSchemaInvalid, Err: err}
	}
	if err := e.store.Adopt(phase.With(ctx, h.req.JobID, phase.PendingWrite), h.req, packet); err != nil {
		return RetryAfter(err, e.settings.RetryDelayStore, phase.PendingWrite, "")
	}
	h.state = job.Pending
	return nil
}

// schedule writes SCHEDULED, which counts an attempt (seed 000, attempt accounting).
func (e *Engine) schedule(ctx context.Context, h *handling, p phase.Phase) error {
	attempts, err := e.store.Write(phase.With(ctx, h.req.JobID, p),
		store.Write{JobID: h.req.JobID, From: h.state, Guessed: h.guessed, To: job.Scheduled})
	if err != nil {
		return err
	}
	h.state, h.guessed, h.attempts = job.Scheduled, false, attempts
	return nil
}
