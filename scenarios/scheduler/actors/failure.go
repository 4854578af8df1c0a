package actors

import (
	"context"
	"errors"
	"time"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/worker"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// Failure is how a worker fails a job.
type Failure struct {
	ReasonCode string
	Committed  bool          // the effect is had, although the worker reports a failure
	Succeeds   time.Duration // after which it has the effect, unless it has had it, and reports a success after all; 0 is never
}

// EffectFail is an execution that ends without its effect.
const EffectFail = "fail"

// end has the effect of an execution that is over, unless it has failed without.
func (r *running) end(ctx context.Context, t *worker.Task, f *Failure) error {
	name := EffectDone
	if f != nil && !f.Committed {
		name = EffectFail
	}
	err := r.p.Do(ctx, KindEffect, name, t.IdempotencyKey, func() error {
		if name == EffectDone && !r.Ledger.Record(EffectKey(t.Tenant, t.IdempotencyKey), r.Deduplicate) {
			return errHad
		}
		return nil
	})
	if errors.Is(err, errHad) { // another worker was at it, too
		return nil
	}
	return err
}

var errHad = errors.New(history.EffectHad)

// succeedAfterAll goes on where an execution was taken for a failure: a call that had timed out, say.
func (r *running) succeedAfterAll(ctx context.Context, t *worker.Task, f *Failure) worker.Outcome {
	r.p.Clock().Sleep(f.Succeeds)
	if !f.Committed && r.end(phase.With(ctx, t.JobID, PhaseEffect), t, nil) != nil {
		return worker.Outcome{Ending: worker.Dropped}
	}
	return r.outcome(t, nil)
}

// outcome is what the worker answers.
func (r *running) outcome(t *worker.Task, f *Failure) worker.Outcome {
	if f == nil {
		return worker.Outcome{Status: r.Status(t.JobID)}
	}
	o := worker.Outcome{Status: job.StatusFailed, ReasonCode: f.ReasonCode, Reason: "the worker says so"}
	if f.Succeeds > 0 {
		o.Later = func(ctx context.Context) worker.Outcome { return r.succeedAfterAll(ctx, t, f) }
	}
	return o
}
