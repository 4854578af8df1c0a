package engine

import (
	"context"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/recovery"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// pastDeadline says why a job that is being handled is to time out, or returns "" if it is not: its deadline has passed. The reconciler
// would find it, but handlings that follow one another may keep the lock from every tick.
func (e *Engine) pastDeadline(rec *store.Record) string {
	if now := e.clock.Now(); e.settings.Reconciler && e.settings.RecheckTimeouts && recovery.PastDeadline(rec, now) {
		return e.timeouts.Overdue(rec, now)
	}
	return ""
}

// endOverdue holds the job's lock. A dispatch whose publish nobody saw confirmed may have been stored
// all the same: that job runs, and has its time for it, unless it is its deadline that has passed. With
// retry_unpublished one of which nothing was stored, nor ever will be, goes back to SCHEDULED, and to its
// request, or the replayer: NATS may have been away, and no worker is to blame. That takes a void, since a
// publish may be under way: where the stream refuses one, the job times out.
func (e *Engine) endOverdue(ctx context.Context, rec *store.Record, reason string) error {
	timeout := job.Void{End: job.Timeout, Reason: reason}
	want := timeout
	h := e.unpublished(rec)
	if h != nil {
		want.End = job.Scheduled
	}
	decided, worker, err := e.void(ctx, rec, want)
	if h != nil && refused(err) {
		decided, worker, err = e.void(ctx, rec, timeout)
	}
	if err != nil {
		return err
	}
	if worker != "" {
		if err := e.runningRecord(ctx, rec, worker); err != nil {
			return e.writeRetry(ctx, err, phase.RunningWrite, "")
		}
		rec.UpdatedAt = e.clock.Now()
		if reason = e.timeouts.Overdue(rec, rec.UpdatedAt); reason == "" {
			return nil
		}
		return e.writeTimeout(ctx, rec, rec.Move(job.Timeout), reason) // a deadline leaves it no time
	}
	if decided.End == job.Scheduled {
		if err := e.finish(ctx, h, decided); h.rec.State != job.Scheduled {
			return err
		}
		return nil
	}
	return e.end(ctx, rec, decided)
}

// unpublished is the handling that takes a job back whose dispatch, by its timeout, may not have been
// published; nil if such a job is to time out, as it is once its deadline has passed.
func (e *Engine) unpublished(rec *store.Record) *handling {
	if rec.State != job.Dispatched || !e.settings.RetryUnpublished || !e.settings.SweepScheduled || !e.resumes() || !e.voids(rec) || recovery.PastDeadline(rec, e.clock.Now()) {
		return nil
	}
	req, err := rec.Request()
	if err != nil {
		return nil // nobody could dispatch it again
	}
	return &handling{req: &req, rec: *rec, prior: rec.Attempts}
}
