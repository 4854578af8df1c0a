package engine

import (
	"context"
	"errors"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// timeOut ends a job that the reconciler has listed as overdue (Scheduler internals, section 3). It reads the job
// again under its lock: one that has moved on since, and is not overdue any more, is left alone.
// Without recheck_timeouts the list has the last word, whatever has become of the job.
func (e *Engine) timeOut(ctx context.Context, listed *store.Record, reason string) error {
	return e.withJobLock(ctx, listed.JobID, func(ctx context.Context) error {
		if !e.settings.RecheckTimeouts {
			w := listed.Move(job.Timeout)
			w.Blind = true
			return e.writeTimeout(ctx, listed, w, reason)
		}
		rec, err := e.store.Read(phase.With(ctx, listed.JobID, phase.TimeoutRead), listed.JobID)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return e.failClosed(ctx, phase.TimeoutRead, listed.JobID, listed.Topic, err)
		}
		reason := e.timeouts.Overdue(&rec, e.clock.Now())
		if reason == "" {
			return nil
		}
		return e.endOverdue(ctx, &rec, reason)
	})
}
