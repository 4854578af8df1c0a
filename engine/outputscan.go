package engine

import (
	"context"
	"errors"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/audit"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/output"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// scanLater has the output of a job that has just become SUCCEEDED scanned, in the background.
func (e *Engine) scanLater(ctx context.Context, rec *store.Record) {
	if e.output == nil || rec.ResultPtr == "" {
		return
	}
	listed := *rec
	e.inBackground(ctx, func(ctx context.Context) { e.scan(ctx, &listed) })
}

// scansMax bounds the scans that a replica does at once: each holds an output in memory, and all of them 256 MiB at most.
// keptMax bounds those that are kept and that it does or that wait here: each holds a record, and is to be over before others
// take it up for one that was left.
const (
	scansMax = 64
	keptMax  = 2 * scansMax
)

// inBackground does what belongs to a scan in the background, once one of scansMax slots is free. A scan that is kept is left
// to a later tick, of this replica or another, if keptMax are here already, or when the engine stops; one that is not kept is
// finished.
func (e *Engine) inBackground(ctx context.Context, fn func(ctx context.Context)) {
	kept := e.output.keeps()
	if kept {
		select {
		case e.output.kept <- struct{}{}:
		default:
			return
		}
	}
	e.background(ctx, kept, func(ctx context.Context) {
		if kept {
			defer func() { <-e.output.kept }()
		}
		select {
		case e.output.slots <- struct{}{}:
			defer func() { <-e.output.slots }()
			if ctx.Err() == nil {
				fn(ctx)
			}
		case <-ctx.Done():
		}
	})
}

// resumeScans takes up scans that are overdue, as many as there are free slots: who began them is gone, or the policy gave no
// answer.
func (e *Engine) resumeScans(ctx context.Context) error {
	free := min(e.settings.BatchSize, cap(e.output.slots)-len(e.output.slots))
	if free == 0 {
		return nil
	}
	due, err := e.output.ledger.Due(phase.With(ctx, "", phase.ScanRead), free, e.scanWithin())
	if err != nil {
		return err
	}
	for _, id := range due {
		e.inBackground(ctx, func(ctx context.Context) { e.resumeScan(ctx, id) })
	}
	return nil
}

func (e *Engine) resumeScan(ctx context.Context, jobID string) {
	rec, err := e.store.Read(phase.With(ctx, jobID, phase.ScanRead), jobID)
	switch {
	case err == nil && rec.State == job.Succeeded:
		e.scan(ctx, &rec)
		return
	case err == nil || errors.Is(err, store.ErrNotFound):
		err = e.output.ledger.Drop(phase.With(ctx, jobID, phase.OutputRecord), jobID)
	}
	if err != nil {
		e.leaveScan(ctx, jobID, err)
	}
}

// leaveScan leaves a scan to a later tick, if open scans are kept.
func (e *Engine) leaveScan(ctx context.Context, jobID string, err error) {
	e.log.LogAttrs(ctx, slog.LevelWarn, "output scan not finished", slog.String("job_id", jobID),
		slog.Bool("kept", e.output.keeps()), slog.Any("error", err))
}

// scan asks the policy about the output of a job that was SUCCEEDED, as listed, and downgrades the job if
// the output is blocked (Scheduler internals, section 2, phase 2). Without an answer nothing follows; a scan that is
// kept comes again, unless the output is one that cannot be scanned.
func (e *Engine) scan(ctx context.Context, listed *store.Record) {
	res := &job.Result{JobID: listed.JobID, ResultPtr: listed.ResultPtr, Status: job.StatusSucceeded, Epoch: listed.Epoch, WorkerID: listed.Worker}
	v, err := e.ask(ctx, output.Async, res, listed, e.output.client.CheckOutputContent)
	if err != nil && e.output.keeps() && !output.Unscannable(err) {
		e.leaveScan(ctx, listed.JobID, err)
		return
	}
	f := output.Finding{Decision: v.Decision, Reason: v.Reason, Ptr: listed.ResultPtr}
	var also func(context.Context, redis.Pipeliner) error
	if err != nil {
		f = output.Finding{Decision: output.Skipped, Reason: err.Error(), Ptr: listed.ResultPtr}
		if output.Unscannable(err) {
			also = e.unscanned(listed.JobID, f.Reason)
		}
	}
	if err == nil && v.Decision != output.Allow {
		if err := e.downgrade(ctx, listed, v, f); err != nil {
			e.leaveScan(ctx, listed.JobID, err)
		}
		return
	}
	if err := e.output.ledger.Close(phase.With(ctx, listed.JobID, phase.OutputRecord), listed.JobID, f, also); err != nil {
		e.leaveScan(ctx, listed.JobID, err)
	}
}

// unscanned puts on record that an output is handed out although nobody can scan it.
func (e *Engine) unscanned(jobID, reason string) func(context.Context, redis.Pipeliner) error {
	return func(ctx context.Context, p redis.Pipeliner) error {
		return audit.Put(ctx, p, audit.Event{At: e.clock.Now().UnixMilli(), Kind: auditOutputUnscanned, JobID: jobID, Reason: reason, By: auditByOutputPolicy})
	}
}

// downgrade takes a job whose output is blocked from SUCCEEDED to OUTPUT_QUARANTINED. It tries again, for
// as long as a scan may take, while the job's lock is another's or a server does not answer.
func (e *Engine) downgrade(ctx context.Context, listed *store.Record, v output.Verdict, f output.Finding) error {
	until := e.clock.Now().Add(e.settings.Output.ScanTimeout)
	for {
		err := e.withJobLock(ctx, listed.JobID, func(ctx context.Context) error { return e.downgradeLocked(ctx, listed, v, f) })
		err = e.retrying(ctx, listed.JobID, listed.Topic, err)
		var retry *RetryableError
		if !errors.As(err, &retry) || e.clock.Now().Add(retry.Delay).After(until) {
			return err
		}
		if cut := e.wait(ctx, retry.Delay); cut != nil {
			return errors.Join(err, cut)
		}
	}
}

// downgradeLocked holds the job's lock. A job that has moved on since it was SUCCEEDED is left alone.
// Without output.recheck what the scan knew of it has the last word.
func (e *Engine) downgradeLocked(ctx context.Context, listed *store.Record, v output.Verdict, f output.Finding) error {
	note := func(ctx context.Context, p redis.Pipeliner) error {
		return e.output.ledger.Put(ctx, p, listed.JobID, output.Async, f)
	}
	if !e.settings.Output.Recheck {
		blocked := e.quarantine(listed, v, phase.OutputWrite, "", note)
		blocked.blind = true
		return e.block(ctx, blocked)
	}
	rec, err := e.store.Read(phase.With(ctx, listed.JobID, phase.QuarantineRead), listed.JobID)
	switch {
	case err == nil && rec.State == job.Succeeded:
		return e.block(ctx, e.quarantine(&rec, v, phase.OutputWrite, "", note))
	case err == nil || errors.Is(err, store.ErrNotFound):
		return e.output.ledger.Close(phase.With(ctx, listed.JobID, phase.OutputRecord), listed.JobID, f, nil)
	}
	return e.failClosed(ctx, phase.QuarantineRead, listed.JobID, listed.Topic, err)
}
