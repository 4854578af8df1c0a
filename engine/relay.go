package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/errgroup"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

const (
	kicksMax    = 1024 // kicks that wait for the relay; what is more is left to the poll
	outboxBatch = 128  // entries that one poll takes up
)

// intoOutbox is the outbox order of Dispatch ordering: DISPATCHED and the message become durable together,
// and the request is done with. What fails from then on is the relay's to repeat: there is no
// rollback, and no attempt is counted.
func (e *Engine) intoOutbox(ctx context.Context, h *handling, workerID string) error {
	entry, err := h.entry(workerID, e.nextEpoch(&h.rec))
	if err != nil {
		return e.storeRetry(ctx, err, phase.DispatchedWrite, job.ReasonDispatchFailed)
	}
	entry.DueAfter = e.settings.OutboxPoll
	err = e.intend(ctx, h, store.Write{Worker: workerID, Enter: &entry})
	h.entered = err == nil
	return err
}

// kick tells this replica's relay of an entry that it has just written and no longer locks, so that
// the dispatch does not wait for a poll.
func (e *Engine) kick(jobID string) {
	select {
	case e.kicks <- jobID:
	default:
	}
}

// startRelay adds the relay's loops, if the dispatch order has one. They end once stop has been
// called, which is for after the last request, and what was kicked has been relayed.
func (e *Engine) startRelay(ctx context.Context, loops *errgroup.Group) (stop context.CancelFunc) {
	ctx, stop = context.WithCancel(context.WithoutCancel(ctx))
	if e.settings.DispatchOrder == settings.Outbox {
		ticker := e.clock.NewTicker(e.settings.OutboxPoll)
		loops.Go(func() error { e.relayKicked(ctx); return nil })
		loops.Go(func() error { defer ticker.Stop(); e.relayDue(ctx, ticker); return nil })
	}
	return stop
}

// relayKicked publishes what this replica has just written.
func (e *Engine) relayKicked(ctx context.Context) {
	relays := e.relays()
	defer func() { _ = relays.Wait() }()
	relay := func(jobID string) {
		relays.Go(func() error { e.relay(context.WithoutCancel(ctx), jobID); return nil })
	}
	for {
		select {
		case jobID := <-e.kicks:
			relay(jobID)
		case <-ctx.Done():
			for {
				select {
				case jobID := <-e.kicks:
					relay(jobID)
				default:
					return
				}
			}
		}
	}
}

// relayDue publishes what nobody was kicked for, or could not be published before: entries of this
// replica and of others, those included that have crashed.
func (e *Engine) relayDue(ctx context.Context, ticker clockwork.Ticker) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.Chan():
		}
		due, err := e.store.Due(phase.With(ctx, "", phase.OutboxRead), outboxBatch)
		if err != nil {
			e.leave(ctx, "", phase.OutboxRead, err)
			continue
		}
		relays := e.relays()
		for _, jobID := range due {
			relays.Go(func() error { e.relay(context.WithoutCancel(ctx), jobID); return nil })
		}
		_ = relays.Wait()
	}
}

// relays bounds how many entries are published at once.
func (e *Engine) relays() *errgroup.Group {
	g := new(errgroup.Group)
	g.SetLimit(e.settings.Handlers)
	return g
}

// relay publishes a job's entry under the job's lock, which keeps other relays off it and the job
// from moving meanwhile. A relay that outlives its lock, or whose removal fails, leaves an entry that
// is published a second time: workers and sinks know the repetition by its idempotency key.
func (e *Engine) relay(ctx context.Context, jobID string) {
	err := e.withJobLock(ctx, jobID, func(ctx context.Context) error { return e.relayEntry(ctx, jobID) })
	var r *RetryableError
	if errors.As(err, &r) && !errors.Is(err, lock.ErrBusy) { // busy: another is at it, and the poll comes again
		e.leave(ctx, jobID, r.Phase, r.Err)
	}
}

// relayEntry holds the job's lock.
func (e *Engine) relayEntry(ctx context.Context, jobID string) error {
	again, safe := e.settings.RetryDelayStore, e.replica.Since(ctx, jobID)
	entry, rec, err := e.store.Claim(phase.With(ctx, jobID, phase.OutboxClaim), jobID, again)
	if err != nil {
		return e.failClosed(ctx, phase.OutboxClaim, jobID, metrics.UnknownTopic, err)
	}
	if entry == nil {
		return nil // published by another
	}
	if rec.State != job.Dispatched {
		return e.drop(ctx, &rec)
	}
	worker := ""
	if err = safe(ctx); err == nil {
		worker, err = e.publishEntry(ctx, jobID, rec.Worker, entry, time.UnixMilli(entry.Started))
	}
	if _, void := errors.AsType[*voidError](err); void {
		return e.drop(ctx, &rec)
	}
	if err != nil {
		return RetryAfter(err, again, phase.Publish, job.ReasonDispatchFailed)
	}
	w := rec.Move(job.Running)
	w.Leave = true
	if worker != rec.Worker {
		w.Worker = worker // the stream's word counts
	}
	if err := e.move(ctx, phase.OutboxRemove, &rec, w); err != nil {
		return e.writeRetry(ctx, err, phase.OutboxRemove, "")
	}
	return nil
}

// drop takes out the entry of a job whose end has come, or is decided, without this publish.
func (e *Engine) drop(ctx context.Context, rec *store.Record) error {
	if err := e.store.Drop(phase.With(ctx, rec.JobID, phase.OutboxRemove), rec); err != nil {
		return e.writeRetry(ctx, err, phase.OutboxRemove, "")
	}
	e.metrics.OutboxVoided.WithLabelValues(rec.Topic).Inc()
	e.logJob(ctx, slog.LevelInfo, "outbox entry voided", rec.JobID, rec.Topic, slog.String("state", string(rec.State)))
	return nil
}

// leave notes that a relay could not go on; the next poll that finds the entry due repeats it.
func (e *Engine) leave(ctx context.Context, jobID string, p phase.Phase, err error) {
	e.metrics.OutboxRetries.WithLabelValues(string(p)).Inc()
	e.log.LogAttrs(ctx, slog.LevelWarn, "outbox relay failed, retrying later",
		slog.String("job_id", jobID), slog.String("phase", string(p)), slog.Any("error", err))
}
