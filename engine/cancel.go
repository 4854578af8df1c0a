package engine

import (
	"context"
	"encoding/json"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// HandleJobCancel cancels a job that is not over (Scheduler internals, section 1), and with cancel_notice tells
// its worker. A cancellation that comes before its job's record waits for it, and with keep_cancellations the job's
// request finds it there. Its errors are those of
// [Engine.HandleJobRequest].
func (e *Engine) HandleJobCancel(ctx context.Context, c job.Cancel) error {
	if err := c.Validate(); err != nil {
		return &bus.Poison{ReasonCode: job.ReasonSchemaInvalid, Err: err}
	}
	return e.withRecord(ctx, c.JobID, func(ctx context.Context) error {
		if !e.settings.KeepCancellations {
			return nil
		}
		return e.store.KeepCancel(phase.With(ctx, c.JobID, phase.PendingWrite), &c)
	}, func(ctx context.Context, rec *store.Record) error {
		return e.handleJobCancel(ctx, &c, rec)
	})
}

// handleJobCancel holds the job's lock. The order is void, CANCELLED, notice. Once the void is stored,
// the job's end is decided: if CANCELLED does not follow, whoever meets the void next writes it, be it
// a resumption, the reconciler or the redelivery of the cancellation. The notice is left to the redelivery,
// and may be repeated.
func (e *Engine) handleJobCancel(ctx context.Context, c *job.Cancel, rec *store.Record) error {
	if !rec.State.Terminal() {
		decided, worker, err := e.void(ctx, rec, job.Void{End: job.Cancelled, Reason: c.Reason})
		if err != nil {
			return err
		}
		if worker != "" { // it was dispatched after all, and is to be told
			w := rec.Move(job.Cancelled)
			w.Worker = worker
			err = e.writeCancelled(ctx, rec, w, c.Reason)
		} else {
			err = e.end(ctx, rec, decided)
		}
		if err != nil {
			return err
		}
	}
	if rec.State != job.Cancelled {
		return nil
	}
	return e.notice(ctx, c, rec)
}

// notice tells the worker that the record names, if any, that it need not do the job.
func (e *Engine) notice(ctx context.Context, c *job.Cancel, rec *store.Record) error {
	if !e.settings.CancelNotice || rec.Worker == "" {
		return nil
	}
	if err := e.stillHeld(ctx, phase.CancelNotice); err != nil {
		return err
	}
	body, err := json.Marshal(job.Cancel{JobID: rec.JobID, Reason: c.Reason, Epoch: rec.Epoch})
	if err != nil {
		return err
	}
	err = bus.Publish(phase.With(ctx, rec.JobID, phase.CancelNotice), e.js, bus.Message{
		Subject: bus.CancelSubject(rec.Worker), JobID: rec.JobID, Epoch: rec.Epoch, Body: body,
	}, e.settings.PublishTimeout)
	if err != nil {
		return e.noticeRetry(ctx, err, phase.CancelNotice)
	}
	return nil
}
