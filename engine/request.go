package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

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

// handling is what one handling of a request knows.
type handling struct {
	req     *job.Request
	started time.Time
	rec     store.Record   // as read, then as written
	guessed bool           // the state is the cache's word, not read
	prior   int            // attempts before this handling
	entered bool           // its dispatch is in the outbox
	orphan  job.State      // in which the replayer has listed the job; "" if a message has come
	decided *store.Decided // by the kernel in this handling, and not in the record yet
}

// move is the write that takes the job on from where the handling has it.
func (h *handling) move(to job.State) store.Write {
	w := h.rec.Move(to)
	w.Guessed = h.guessed
	return w
}

// failure is the job as the FAILED write and the DLQ see it.
func (h *handling) failure(code, reason string) failure {
	return failure{
		phase: phase.FailedWrite, rec: &h.rec, guessed: h.guessed, topic: h.req.Topic, key: h.req.IdempotencyKey,
		code: code, reason: reason, labels: h.req.Labels,
	}
}

func (h *handling) ceiling() failure {
	return h.failure(job.ReasonMaxSchedulingRetries, fmt.Sprintf("max scheduling retries exceeded (attempts=%d)", h.rec.Attempts))
}

// handleJobRequest holds the job's lock.
func (e *Engine) handleJobRequest(ctx context.Context, h *handling) error {
	rec, err := e.readState(ctx, h)
	if err != nil {
		return err
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
	case rec.State == job.Scheduled:
		if err := e.asDecided(ctx, h); err != nil {
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
		return e.fail(ctx, h.ceiling())
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
	out, err := e.store.Adopt(phase.With(ctx, h.req.JobID, phase.PendingWrite), h.req, packet)
	if err = e.fenced(ctx, err, phase.PendingWrite, h.req.JobID, h.req.Topic, job.Pending); err != nil {
		return e.writeRetry(ctx, err, phase.PendingWrite, "")
	}
	h.rec.Moved(&store.Write{To: job.Pending}, out)
	return nil
}

// schedule writes SCHEDULED, which counts an attempt (Dispatch ordering, attempt accounting).
func (e *Engine) schedule(ctx context.Context, h *handling, p phase.Phase) error {
	w := h.move(job.Scheduled)
	if w.Decided = h.decided; w.Decided != nil {
		keep, err := e.keepDecided(h)
		if err != nil {
			return err
		}
		w.Also = keep
	}
	if err := e.move(ctx, p, &h.rec, w); err != nil {
		return err
	}
	h.guessed, h.decided = false, nil
	return nil
}
