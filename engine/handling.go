package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// handling is what one handling of a request knows.
type handling struct {
	req     *job.Request
	started time.Time
	rec     store.Record                // as read, then as written
	guessed bool                        // the state is the cache's word, not read
	prior   int                         // attempts before this handling
	entered bool                        // its dispatch is in the outbox
	orphan  job.State                   // in which the replayer has listed the job; "" if a message has come
	safe    func(context.Context) error // what its dispatch follows from; nil is at once
	decided *store.Decided              // by the kernel in this handling, and not in the record yet
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

// ceiling is the job given up for want of attempts; cause is the reason code of what the last of them met. One that broke
// off, with its handling, is dispatch_failed: nobody wrote down how.
func (h *handling) ceiling(cause string) failure {
	f := h.failure(job.ReasonMaxSchedulingRetries, fmt.Sprintf("max scheduling retries exceeded (attempts=%d)", h.rec.Attempts))
	f.cause = cause
	return f
}

// putOff puts off a SCHEDULED job that cannot go to a worker yet. The last attempt ends the job.
func (e *Engine) putOff(ctx context.Context, h *handling, cause error, p phase.Phase, reasonCode string) error {
	if h.rec.Attempts >= e.settings.MaxSchedulingRetries {
		return e.fail(ctx, h.ceiling(reasonCode))
	}
	return e.schedulingRetry(ctx, h, cause, p, reasonCode, h.rec.Attempts)
}
