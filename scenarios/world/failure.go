package world

import (
	"context"
	"time"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
)

// Failure is how a worker fails a job.
type Failure struct {
	ReasonCode string
	Committed  bool          // the effect is had, although the worker reports a failure
	Succeeds   time.Duration // after which it has the effect, and reports a success after all; 0 is never
}

// EffectFail is an execution that ends without its effect.
const EffectFail = "fail"

// result is what the worker answers.
func (f *Failure) result(r job.Result) job.Result {
	if f != nil {
		r.Status, r.ReasonCode, r.Reason = job.StatusFailed, f.ReasonCode, "the worker says so"
	}
	return r
}

// end has the effect of an execution that is over, unless it has failed without.
func (r *running) end(ctx context.Context, d job.Dispatch, f *Failure) error {
	name := EffectDone
	if f != nil && !f.Committed {
		name = EffectFail
	}
	return r.p.Do(ctx, KindEffect, name, d.IdempotencyKey, func() error {
		if name == EffectDone {
			r.Ledger.Record(d.IdempotencyKey)
		}
		return nil
	})
}

// succeedAfterAll goes on where an execution was taken for a failure: a call that had timed out, say.
func (r *running) succeedAfterAll(ctx context.Context, d job.Dispatch, f *Failure) {
	r.p.Clock().Sleep(f.Succeeds)
	if r.end(phase.With(ctx, d.JobID, PhaseEffect), d, nil) != nil {
		return
	}
	r.report(ctx, d, nil)
}

// report publishes the result for as long as it is told that this failed.
func (r *running) report(ctx context.Context, d job.Dispatch, f *Failure) {
	for r.answer(phase.With(ctx, d.JobID, PhaseResult), d, f) != nil {
		r.p.Clock().Sleep(time.Second)
	}
}
