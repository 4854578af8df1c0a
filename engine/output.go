package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/audit"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/output"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/safety"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// The output policy's events in the audit trail.
const (
	auditOutputQuarantined = "output_quarantined"
	auditOutputUnscanned   = "output_unscanned"
	auditByOutputPolicy    = "output policy"
)

// outputs are the engine's part in the output policy (Scheduler internals, section 2); nil without one.
type outputs struct {
	client  *output.Client
	breaker *safety.Breaker
	ledger  *output.Ledger
	slots   chan struct{} // one for each scan in progress
	kept    chan struct{} // one for each scan in progress, or waiting for that, that is kept
}

// keeps says whether scans outlive the process that is to do them.
func (o *outputs) keeps() bool { return o != nil && o.ledger.Durable }

// outputs is what the engine asks the output policy with, through a breaker of its own.
func (e *Engine) outputs(c Config) *outputs {
	s := &c.Settings
	if !s.Output.Enabled {
		return nil
	}
	breaker := e.breaker(c.Redis, "output policy", safety.OutputPrefix)
	return &outputs{
		breaker: breaker,
		client: &output.Client{
			Conn: c.Output, Redis: c.Redis, ReadTimeout: s.StoreOpTimeout, MetaTimeout: s.Output.CheckTimeout, ScanTimeout: s.Output.ScanTimeout,
			Breaker: breaker.Do,
		},
		ledger: &output.Ledger{Redis: c.Redis, Clock: c.Clock, Timeout: s.StoreOpTimeout, TTL: s.DLQEntryTTL, Durable: s.Output.DurableScans},
		slots:  make(chan struct{}, scansMax),
		kept:   make(chan struct{}, keptMax),
	}
}

// checkOutput asks the policy about the metadata of a result that is to make its job SUCCEEDED, and adds
// to w what follows from the answer. A result that is blocked is a failure instead. Without an answer the
// result passes: the policy fails open, by design. A redacted output that cannot be looked for is an error:
// the policy has answered. The caller holds the job's lock.
func (e *Engine) checkOutput(ctx context.Context, res *job.Result, rec *store.Record, w *store.Write) (blocked *failure, err error) {
	if e.output == nil {
		return nil, nil
	}
	v, err := e.ask(ctx, output.Sync, res, rec, e.output.client.CheckOutputMeta)
	f := output.Finding{Decision: v.Decision, Reason: v.Reason, Ptr: res.ResultPtr}
	if err != nil {
		f = output.Finding{Decision: output.Skipped, Reason: err.Error(), Ptr: res.ResultPtr}
	}
	note := func(ctx context.Context, p redis.Pipeliner) error {
		return e.output.ledger.Put(ctx, p, res.JobID, output.Sync, f)
	}
	if v.Decision == output.Redact && v.RedactedPtr != "" {
		there, err := e.output.client.Exists(ctx, res.JobID, v.RedactedPtr)
		if err != nil {
			return nil, e.storeRetry(ctx, err, phase.OutputRead, "")
		}
		if !there {
			v.RedactedPtr = ""
		}
	}
	switch {
	case v.Decision == output.Redact && v.RedactedPtr != "":
		w.ResultPtr = v.RedactedPtr
	case v.Decision != output.Allow && err == nil:
		return e.quarantine(rec, v, phase.ResultWrite, res.ResultPtr, together(w.Also, note)), nil
	}
	open := func(ctx context.Context, p redis.Pipeliner) error {
		if w.ResultPtr != "" {
			e.output.ledger.Open(ctx, p, res.JobID, e.scanWithin())
		}
		return nil
	}
	w.Also = together(w.Also, note, open)
	return nil, nil
}

// ask asks the policy, and counts how that ended. The record's request may be one that cannot be read back:
// then the policy hears what else the record says of the job.
func (e *Engine) ask(ctx context.Context, part string, res *job.Result, rec *store.Record, check func(context.Context, *job.Result, *job.Request) (output.Verdict, error)) (output.Verdict, error) {
	req, err := rec.Request()
	if err != nil {
		req = job.Request{JobID: rec.JobID, Topic: rec.Topic, Tenant: rec.Tenant}
	}
	began := e.clock.Now()
	v, err := check(ctx, res, &req)
	m := &e.metrics.Output
	m.Latency.WithLabelValues(rec.Topic, part).Observe(e.clock.Since(began).Seconds())
	if err != nil {
		m.Skipped.WithLabelValues(rec.Topic).Inc()
		e.logJob(ctx, slog.LevelWarn, "output policy gave no answer, failing open", rec.JobID, rec.Topic,
			slog.String("part", part), slog.Any("error", err))
		return output.Verdict{}, err
	}
	m.Checked.WithLabelValues(rec.Topic).Inc()
	return v, nil
}

// quarantine is the way of a job whose output is blocked to OUTPUT_QUARANTINED, the dead-letter queue and the
// audit trail; what also adds goes with the state.
func (e *Engine) quarantine(rec *store.Record, v output.Verdict, p phase.Phase, ptr string, also func(context.Context, redis.Pipeliner) error) *failure {
	code, reason := job.ReasonOutputQuarantined, v.Reason
	switch {
	case v.Decision == output.Deny:
		code = job.ReasonOutputDenied
	case v.Decision == output.Redact && v.RedactedPtr == "":
		reason = "there is no redacted output: " + reason
	case v.Decision == output.Redact:
		reason = "the redaction comes too late: " + reason
	}
	req, _ := rec.Request() // the entry is worth having without its idempotency key
	event := func(ctx context.Context, p redis.Pipeliner) error {
		return audit.Put(ctx, p, audit.Event{
			At: e.clock.Now().UnixMilli(), Kind: auditOutputQuarantined, JobID: rec.JobID, ReasonCode: code, Reason: reason, By: auditByOutputPolicy,
		})
	}
	return &failure{
		phase: p, to: job.OutputQuarantined, rec: rec, topic: rec.Topic, key: req.IdempotencyKey,
		code: code, reason: reason, ptr: ptr, also: together(event, also),
	}
}

// block ends a job whose output is blocked.
func (e *Engine) block(ctx context.Context, f *failure) error {
	before := f.rec.State
	err := e.fail(ctx, *f)
	if f.rec.State == job.OutputQuarantined { // the DLQ entry may have failed
		e.metrics.Output.Quarantined.WithLabelValues(f.topic).Inc()
		e.logJob(ctx, slog.LevelWarn, "output quarantined", f.rec.JobID, f.topic,
			slog.String("from", string(before)), slog.String("reason_code", f.code), slog.String("reason", f.reason))
	}
	return err
}

// scanWithin is how long whoever has a scan may take over it, before another takes it up: the reading, the
// call, and what follows from the answer, for which the job's lock may have to be waited for.
func (e *Engine) scanWithin() time.Duration {
	return 2*e.settings.Output.ScanTimeout + e.settings.JobLockTTL
}
