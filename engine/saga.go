package engine

import (
	"context"
	"errors"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/saga"
	"github.com/wavetank-sim/wavetank/engine/store"
)

func newSaga(c *Config, e *Engine) *saga.Manager {
	s := &c.Settings
	m := &saga.Manager{
		Redis: c.Redis, JetStream: c.JetStream, Clock: c.Clock, Locks: e.locks, DLQ: e.dlq, Logger: e.log, Metrics: &e.metrics.Saga,
		Timeout: s.StoreOpTimeout, PublishTimeout: s.PublishTimeout, LockTTL: s.Saga.LockTTL, Limit: s.Saga.RollbackTimeout,
		Draw: c.Random.Uint64, Check: e.checkSafety, Filed: func(code string) { e.metrics.Replay.Entries.WithLabelValues(code).Inc() },
		Peek: s.Saga.Peek, Durable: s.Saga.DurableRollback,
	}
	if m.Peek && m.Durable { // without its one id, a compensation that is submitted again would be two jobs
		m.Create = func(ctx context.Context, req *job.Request, packet []byte) error {
			_, err := create(ctx, e.store, req, packet)
			return err
		}
	}
	return m
}

// record records the compensation of a job that has succeeded: at once, so that a failure of the state
// write that follows records it again (Scheduler internals, section 4), or with atomic_record by what it returns to
// be added to that write's MULTI. It returns nil if nothing is to be added.
func (e *Engine) record(ctx context.Context, res *job.Result, req *job.Request) (also func(context.Context, redis.Pipeliner) error, err error) {
	if res.Status != job.StatusSucceeded || !saga.Compensated(req) {
		return nil, nil
	}
	if e.settings.Saga.AtomicRecord {
		return func(ctx context.Context, p redis.Pipeliner) error { return e.saga.PutRecord(ctx, p, req) }, nil
	}
	if err := e.saga.Record(ctx, req); err != nil {
		return nil, e.storeRetry(ctx, err, phase.SagaRecord, "")
	}
	return nil, nil
}

// undoableAfterAll records the compensation of a job that a worker has done although it had ended otherwise before,
// as by a timeout: what it did is to be undone with the rest of its workflow. The documented design ignores
// such a result.
func (e *Engine) undoableAfterAll(ctx context.Context, res *job.Result, rec *store.Record) error {
	s := &e.settings.Saga
	recorded := rec.State == job.Succeeded || rec.State == job.OutputQuarantined // with its state
	if res.Status != job.StatusSucceeded || recorded || !s.AtomicRecord || !s.DurableRollback {
		return nil
	}
	req, err := rec.Request()
	if err != nil || !saga.Compensated(&req) {
		return nil // without a request nobody knows what would undo it
	}
	if err := e.saga.RecordAfterAll(ctx, store.JobKey(rec.JobID), &req); err != nil {
		return e.storeRetry(ctx, err, phase.SagaRecord, "")
	}
	return nil
}

// recorded counts a compensation that the MULTI of its job's end took along.
func (e *Engine) recorded(also func(context.Context, redis.Pipeliner) error, rec *store.Record) {
	if also != nil && rec.State.Terminal() {
		e.metrics.Saga.Recorded.Inc()
	}
}

// rollsBack says whether the result calls for its saga to be rolled back.
func rollsBack(res *job.Result, req *job.Request) bool {
	return res.Status == job.StatusFailedFatal && req.WorkflowID != ""
}

// noteRollback is what FAILED takes along in its MULTI if a rollback is to follow: the note that it is due.
func (e *Engine) noteRollback(res *job.Result, req *job.Request) func(context.Context, redis.Pipeliner) error {
	if !rollsBack(res, req) || !e.settings.Saga.DurableRollback {
		return nil
	}
	return func(ctx context.Context, p redis.Pipeliner) error {
		return e.saga.PutRollback(ctx, p, saga.Name(req.Tenant, req.WorkflowID))
	}
}

// rollBackSaga rolls the saga of a job that has failed for good back, in the background.
func (e *Engine) rollBackSaga(ctx context.Context, res *job.Result, req *job.Request) {
	if !rollsBack(res, req) {
		return
	}
	e.background(ctx, e.settings.Saga.DurableRollback, func(ctx context.Context) {
		name := saga.Name(req.Tenant, req.WorkflowID)
		err := e.saga.Rollback(ctx, name)
		if err != nil && !errors.Is(err, lock.ErrBusy) {
			e.log.LogAttrs(ctx, slog.LevelError, "rollback failed", slog.String("saga", name), slog.Any("error", err))
		}
	})
}

// lifeKey is where the context of Run's own loops has itself, for what outlives a handling.
type lifeKey struct{}

// background calls fn in a goroutine of its own, for which Run waits. Its context has nothing of the handling that ctx is of,
// neither its lock nor its phase. What is kept in Redis is left to the other replicas when Run is to end: the context ends
// then. What is not kept is finished.
func (e *Engine) background(ctx context.Context, kept bool, fn func(ctx context.Context)) {
	life, ok := ctx.Value(lifeKey{}).(context.Context)
	if !ok { // a message handled without Run
		life = context.Background()
	}
	if !kept {
		life = context.WithoutCancel(life)
	}
	e.behind.Go(func() { fn(life) })
}
