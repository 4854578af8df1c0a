package engine

import (
	"context"
	"log/slog"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
	"github.com/wavetank-sim/wavetank/engine/workflow"
)

// failure is a job on its way to the DLQ, and to the terminal state that goes with that.
type failure struct {
	phase   phase.Phase    // of the state write
	to      job.State      // Absent is FAILED
	decided *store.Decided // with DENIED, by the safety kernel
	rec     *store.Record
	guessed bool // the record's state was not read
	blind   bool // the state is written over whatever the record holds
	topic   string
	key     string // idempotency key
	code    string
	cause   string // with max_scheduling_retries, the reason code of the last retry; else ""
	reason  string
	ptr     string                                             // of the job's output; may be ""
	fatal   bool                                               // its worker called it final, and it is part of a workflow
	final   bool                                               // its worker called it final
	labels  map[string]string                                  // the request's; nil if it cannot be read
	also    func(ctx context.Context, p redis.Pipeliner) error // what else belongs to the MULTI of the state; may be nil
}

// end is the state that the job is on its way to.
func (f *failure) end() job.State {
	if f.to == job.Absent {
		return job.Failed
	}
	return f.to
}

// fail writes the job's end and its DLQ entry, in the order that the settings say (Dead letters). In the
// documented order an entry that cannot be written is lost: the redelivery sees a terminal state.
func (e *Engine) fail(ctx context.Context, f failure) error {
	if f.decided != nil {
		f.rec.Decided = *f.decided
	}
	entry := dlq.Entry{
		JobID:          f.rec.JobID,
		Topic:          f.topic,
		Tenant:         f.rec.Tenant,
		Status:         string(f.end()),
		ReasonCode:     f.code,
		LastCause:      f.cause,
		Reason:         f.reason,
		Attempts:       f.rec.Attempts,
		IdempotencyKey: f.key,
		PolicySnapshot: f.rec.Decided.Snapshot,
		ReplayStatus:   dlq.PendingReview,
	}
	entry.Fatal = f.final
	if req, err := f.rec.Request(); err == nil && workflow.StepOf(&req) != "" {
		entry.Run = req.WorkflowID
	}
	e.countReplay(&entry, f.labels)
	err := e.bury(ctx, f, entry)
	if err == nil {
		e.metrics.Replay.Entries.WithLabelValues(dlq.CodeLabel(entry.ReasonCode)).Inc()
	}
	return err
}

func (e *Engine) bury(ctx context.Context, f failure, entry dlq.Entry) error {
	switch e.settings.DLQOrder {
	case settings.DLQThenState:
		once := func(ctx context.Context, entry dlq.Entry) error {
			_, err := e.dlq.AddOnce(ctx, entry)
			return err
		}
		if err := e.deadLetter(ctx, entry, once); err != nil {
			return err
		}
		return e.failed(ctx, f, nil)
	case settings.AtomicDLQ:
		return e.failed(ctx, f, func(ctx context.Context, p redis.Pipeliner) error { return e.dlq.Put(ctx, p, entry) })
	default:
		if err := e.failed(ctx, f, nil); err != nil {
			return err
		}
		return e.deadLetter(ctx, entry, e.dlq.Add)
	}
}

// failed writes the job's end, and with it what entry adds.
func (e *Engine) failed(ctx context.Context, f failure, entry func(ctx context.Context, p redis.Pipeliner) error) error {
	w := f.rec.Move(f.end())
	w.Guessed, w.Blind, w.Reason, w.ReasonCode, w.ResultPtr = f.guessed, f.blind, f.reason, f.code, f.ptr
	w.Also = together(entry, f.also)
	w.Decided, w.Fatal = f.decided, f.fatal
	if err := e.move(ctx, f.phase, f.rec, w); err != nil {
		return e.writeRetry(ctx, err, f.phase, dlq.CodeLabel(f.code))
	}
	e.metrics.JobsCompleted.WithLabelValues(f.topic, string(w.To)).Inc()
	if w.To == job.Denied {
		e.metrics.SafetyDenied.WithLabelValues(f.topic).Inc()
	}
	words := "job failed"
	if w.To != job.Failed {
		words = "job ended"
	}
	e.logJob(ctx, slog.LevelError, words, f.rec.JobID, f.topic,
		slog.String("state", string(w.To)), slog.String("reason_code", f.code), slog.String("reason", f.reason), slog.Int("attempts", f.rec.Attempts))
	return nil
}

// together adds to a MULTI what each of the parts adds, of which some may be nil.
func together(parts ...func(ctx context.Context, p redis.Pipeliner) error) func(ctx context.Context, p redis.Pipeliner) error {
	parts = slices.DeleteFunc(parts, func(part func(context.Context, redis.Pipeliner) error) bool { return part == nil })
	if len(parts) == 0 {
		return nil
	}
	return func(ctx context.Context, p redis.Pipeliner) error {
		for _, part := range parts {
			if err := part(ctx, p); err != nil {
				return err
			}
		}
		return nil
	}
}

// deadLetter writes an entry on its own.
func (e *Engine) deadLetter(ctx context.Context, entry dlq.Entry, add func(ctx context.Context, entry dlq.Entry) error) error {
	err := add(phase.With(ctx, entry.JobID, phase.DLQWrite), entry)
	if err != nil {
		e.metrics.DLQWritesFailed.WithLabelValues(entry.Topic).Inc()
		e.logJob(ctx, slog.LevelError, "dlq write failed", entry.JobID, entry.Topic, slog.Any("error", err))
		return e.storeRetry(ctx, err, phase.DLQWrite, dlq.CodeLabel(entry.ReasonCode))
	}
	return nil
}
