package actors

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/worker"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// Failure is how a worker fails a job.
type Failure struct {
	ReasonCode string
	Committed  bool          // the effect is had, although the worker reports a failure
	Succeeds   time.Duration // after this it has the effect, unless it is had already, and reports a success; 0 is never
}

// ReasonFailed is the reason in a worker's report of a failure.
const ReasonFailed = "the worker says so"

// EffectFail is the name of an execution that ends without its effect.
const EffectFail = "fail"

// end has the effect of an execution that ends, unless it has failed without one.
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
	if errors.Is(err, errHad) { // another worker executed it, too
		return nil
	}
	return err
}

var errHad = errors.New(history.EffectHad)

// succeedAfterAll continues an execution that was reported as a failure, for example after a timeout. It
// reports the success itself, without an output: for the engine's worker, an execution ends once.
func (r *running) succeedAfterAll(t *worker.Task, f *Failure) worker.Outcome {
	ctx := r.p.Context()
	if !r.tell(phase.With(ctx, t.JobID, worker.PhaseResult), t, r.outcome(t, f)) {
		return worker.Outcome{Ending: worker.Left}
	}
	r.p.Clock().Sleep(f.Succeeds)
	if !f.Committed && r.end(phase.With(ctx, t.JobID, PhaseEffect), t, nil) != nil {
		return worker.Outcome{Ending: worker.Dropped}
	}
	return r.outcome(t, nil)
}

// tell publishes a result until that is confirmed. It returns false if the worker ends before.
func (r *running) tell(ctx context.Context, t *worker.Task, o worker.Outcome) bool {
	data, err := json.Marshal(job.Result{JobID: t.JobID, WorkerID: r.ID, Status: o.Status, Epoch: t.Epoch, Reason: o.Reason, ReasonCode: o.ReasonCode})
	if err != nil {
		panic(err) // it has only strings and a number
	}
	header := nats.Header{job.Header: {t.JobID}}
	if t.Epoch > 0 {
		header[job.HeaderEpoch] = []string{strconv.FormatInt(t.Epoch, 10)}
	}
	for ctx.Err() == nil {
		attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err := r.p.JetStream().PublishMsg(attempt, &nats.Msg{Subject: bus.SubjectResult, Data: data, Header: header})
		cancel()
		if err == nil {
			return true
		}
		r.p.Clock().Sleep(time.Second)
	}
	return false
}

// outcome is what the worker reports.
func (r *running) outcome(t *worker.Task, f *Failure) worker.Outcome {
	if f == nil {
		return worker.Outcome{Status: r.Status(t.JobID)}
	}
	return worker.Outcome{Status: job.StatusFailed, ReasonCode: f.ReasonCode, Reason: ReasonFailed}
}
