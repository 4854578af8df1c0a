package engine

import (
	"context"
	"errors"
	"log/slog"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

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

// nextEpoch is the one that DISPATCHED will mint; 0 without epochs.
func (e *Engine) nextEpoch(rec *store.Record) int64 {
	if !e.settings.Epochs {
		return 0
	}
	return rec.Epoch + 1
}

// intend writes DISPATCHED, to w's worker.
func (e *Engine) intend(ctx context.Context, h *handling, w store.Write) error {
	move := h.move(job.Dispatched)
	move.Worker, move.Enter = w.Worker, w.Enter
	if e.reserves() {
		move.Reserve = e.settings.TenantLimit
	}
	err := e.move(ctx, phase.DispatchedWrite, &h.rec, move)
	if errors.Is(err, store.ErrTenantFull) {
		return e.tenantFull(ctx, h, err)
	}
	if err != nil {
		return e.writeRetry(ctx, err, phase.DispatchedWrite, "")
	}
	e.registry.Give(w.Worker)
	return nil
}

// running notes that the job was published, to worker. A failure changes nothing for the worker, whose
// result is accepted from DISPATCHED too, so it is not retried, unless a redelivery can repeat it
// without publishing twice.
func (e *Engine) running(ctx context.Context, h *handling, worker string) error {
	err := e.runningRecord(ctx, &h.rec, worker)
	if err == nil {
		return nil
	}
	if errors.Is(err, store.ErrFenced) || e.resumable(&h.rec) && e.settings.Epochs {
		return e.writeRetry(ctx, err, phase.RunningWrite, "")
	}
	return nil
}

// runningRecord writes RUNNING for a job that was published to worker.
func (e *Engine) runningRecord(ctx context.Context, rec *store.Record, worker string) error {
	w := rec.Move(job.Running)
	if worker != rec.Worker {
		w.Worker = worker // the stream's word counts
	}
	err := e.move(ctx, phase.RunningWrite, rec, w)
	if err != nil {
		e.metrics.RunningWritesFailed.WithLabelValues(rec.Topic).Inc()
		e.logJob(ctx, slog.LevelError, "running write failed", rec.JobID, rec.Topic, slog.Any("error", err))
	}
	return err
}

// resumes says whether a DISPATCHED job is published by whoever finds it so. In the outbox order its
// entry is there to see to that.
func (e *Engine) resumes() bool {
	return e.settings.ResumeIntents && e.settings.DispatchOrder != settings.Outbox
}

// resumable says whether the job is published by whoever finds it DISPATCHED. A dispatch to a topic is
// not: no compare-and-set would keep it from being stored twice, and it is left to the reconciler.
func (e *Engine) resumable(rec *store.Record) bool {
	return e.resumes() && rec.State == job.Dispatched && rec.Worker != ""
}
