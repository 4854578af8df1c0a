package saga

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/audit"
	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/dlq"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/metrics"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/safety"
)

// ErrUnfinished says that a rollback ended before its stack was empty: its time was over, or its replica stops.
var ErrUnfinished = errors.New("the rollback ended before the stack was empty")

// eventDenied is the audit trail's word for a compensation that the safety kernel denied.
const eventDenied = "saga_compensation_denied"

// Manager records compensations and rolls sagas back. All fields but Create and the switches are required. It is
// safe for concurrent use.
type Manager struct {
	Redis          redis.UniversalClient
	JetStream      jetstream.JetStream
	Clock          clockwork.Clock
	Locks          *lock.Locker
	DLQ            *dlq.Queue
	Filed          func(reasonCode string) // counts a dead letter
	Logger         *slog.Logger
	Metrics        *metrics.Saga
	Timeout        time.Duration                                                       // of one operation on Redis: storeOpTimeout of Scheduler internals
	PublishTimeout time.Duration                                                       // of one publish
	LockTTL        time.Duration                                                       // 2 min in Scheduler internals
	Limit          time.Duration                                                       // of one rollback: 30 s in Scheduler internals
	Draw           func(ctx context.Context) uint64                                    // for ids, without Peek
	Check          func(ctx context.Context, req *job.Request) (safety.Verdict, error) // the soft safety check

	// Create stores a job as PENDING, unless it has a record. With it, a submission whose deliveries run out is not lost: the
	// pending replayer takes the job up. Nil leaves the record to the scheduler that gets the message.
	Create func(ctx context.Context, req *job.Request, packet []byte) error

	Peek    bool // a compensation leaves the stack only once it is submitted, and has one id
	Durable bool // what is to be rolled back is noted in RollbacksKey
}

// Rollback submits the compensations on the stack of the saga of that [Name], the last recorded first, until there are
// none. It fails with lock.ErrBusy if another is at it. It notices the end of ctx, and of its time, between two
// compensations; what is left then is ErrUnfinished.
func (m *Manager) Rollback(ctx context.Context, name string) (err error) {
	began, calls := m.Clock.Now(), phase.With(context.WithoutCancel(ctx), "", phase.SagaLock)
	k := &lock.Tick{
		Locker: m.Locks, Key: lockKey(name), TTL: m.LockTTL, Keep: lock.Released, Acquire: phase.SagaLock, Release: phase.SagaUnlock,
	}
	if err := k.Begin(calls); err != nil {
		return err
	}
	m.Metrics.Triggered.Inc()
	m.Metrics.Active.Inc()
	defer func() {
		m.Metrics.Active.Dec()
		m.Metrics.Duration.Observe(m.Clock.Since(began).Seconds())
		if err := k.End(calls, true); err != nil {
			m.Logger.LogAttrs(calls, slog.LevelWarn, "saga lock release failed", slog.String("saga", name), slog.Any("error", err))
		}
	}()
	for {
		more, err := m.next(calls, name)
		if err == nil && !more && m.Durable {
			more, err = m.close(calls, name)
		}
		switch {
		case err != nil || !more:
			return err
		case ctx.Err() != nil, m.Clock.Since(began) >= m.Limit:
			return fmt.Errorf("saga %s: %w", name, ErrUnfinished)
		}
	}
}

// next deals with the compensation on top of the stack, if there is one. Without Peek it has left the
// stack by then, and an error of what follows leaves it nowhere.
func (m *Manager) next(ctx context.Context, name string) (more bool, err error) {
	entry, err := m.top(ctx, name)
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("saga %s: %w", name, err)
	}
	err = m.compensate(ctx, name, entry)
	if err != nil {
		m.Logger.LogAttrs(ctx, slog.LevelError, "compensation failed", slog.String("saga", name), slog.Any("error", err))
		if m.Peek { // those below wait for it
			return false, fmt.Errorf("saga %s: %w", name, err)
		}
	}
	return true, nil
}

// top is the last recorded compensation; redis.Nil if there is none.
func (m *Manager) top(ctx context.Context, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	if m.Peek {
		return m.Redis.LIndex(phase.With(ctx, "", phase.SagaRead), StackKey(name), -1).Result()
	}
	return m.Redis.RPop(phase.With(ctx, "", phase.SagaPop), StackKey(name)).Result()
}

func (m *Manager) compensate(ctx context.Context, name, entry string) error {
	var req job.Request
	err := json.Unmarshal([]byte(entry), &req)
	if err == nil {
		req.JobID = m.id(ctx, name, &req)
		err = req.Validate()
	}
	if err != nil {
		m.Metrics.Unreadable.Inc()
		return m.bury(ctx, name, entry, job.ReasonSagaUnmarshalFailed, err)
	}
	verdict, err := m.Check(ctx, &req)
	if err == nil && verdict.Decision == safety.Deny { // without a decision it goes on
		return m.deny(ctx, name, entry, &req, verdict)
	}
	if err := m.submit(ctx, &req); err != nil {
		m.Metrics.Failed.Inc()
		if bus.TooLarge(err) { // as it will be next time, and those below wait for it
			return m.bury(ctx, name, entry, job.ReasonDispatchFailed, err)
		}
		return err
	}
	m.Metrics.Dispatched.Inc()
	m.Logger.LogAttrs(ctx, slog.LevelInfo, "compensation submitted",
		slog.String("saga", name), slog.String("job_id", req.JobID), slog.String("topic", req.Topic))
	return m.settle(ctx, name, entry, nil)
}

func (m *Manager) id(ctx context.Context, name string, req *job.Request) string {
	if m.Peek {
		return idOf(name, req.IdempotencyKey)
	}
	return fmt.Sprintf("comp-%016x", m.Draw(phase.With(ctx, "", phase.SagaPublish)))
}

// submit publishes the job.
func (m *Manager) submit(ctx context.Context, req *job.Request) error {
	packet, err := json.Marshal(req)
	if err == nil && m.Create != nil {
		err = m.Create(ctx, req, packet)
	}
	if err != nil {
		return err
	}
	return bus.Publish(phase.With(ctx, req.Labels[labelJobID], phase.SagaPublish), m.JetStream,
		bus.Message{Subject: bus.SubjectSubmit, JobID: req.JobID, Body: packet}, m.PublishTimeout)
}

// deny skips a compensation, for the record.
func (m *Manager) deny(ctx context.Context, name, entry string, req *job.Request, v safety.Verdict) error {
	m.Logger.LogAttrs(ctx, slog.LevelWarn, "compensation denied",
		slog.String("saga", name), slog.String("job_id", req.JobID), slog.String("reason", v.Reason))
	return m.settle(ctx, name, entry, func(ctx context.Context, p redis.Pipeliner) error {
		return audit.Put(ctx, p, audit.Event{
			At: m.Clock.Now().UnixMilli(), Kind: eventDenied, JobID: req.JobID, ReasonCode: job.ReasonSafetyDenied,
			Reason: fmt.Sprintf("compensation %s of saga %s: %s", req.IdempotencyKey, name, v.Reason), By: v.Snapshot,
		})
	})
}

// entryBytesMax is how much of an entry that cannot be submitted goes into the dead-letter queue.
const entryBytesMax = 4096

// bury takes an entry that makes no sense, or that the stream will never have, to the dead-letter queue.
func (m *Manager) bury(ctx context.Context, name, entry, code string, cause error) error {
	m.Logger.LogAttrs(ctx, slog.LevelError, "compensation cannot be submitted",
		slog.String("saga", name), slog.String("reason_code", code), slog.Any("error", cause))
	err := m.settle(ctx, name, entry, func(ctx context.Context, p redis.Pipeliner) error {
		return m.DLQ.Put(ctx, p, dlq.Entry{
			JobID: "saga-" + hash(name + "|" + entry)[:16], Topic: StackKey(name), Status: dlq.StatusTerminated,
			ReasonCode: code, Reason: fmt.Sprintf("%v: %.*s", cause, entryBytesMax, entry), ReplayStatus: dlq.PendingReview,
		})
	})
	if err == nil {
		m.Filed(code)
	}
	return err
}

// settle takes a compensation that is dealt with off the stack, unless it left that before, in one MULTI
// with what put adds.
func (m *Manager) settle(ctx context.Context, name, entry string, put func(ctx context.Context, p redis.Pipeliner) error) error {
	if !m.Peek && put == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(phase.With(ctx, "", phase.SagaPop), m.Timeout)
	defer cancel()
	_, err := m.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		if m.Peek {
			p.LRem(ctx, StackKey(name), -1, entry)
		}
		if put == nil {
			return nil
		}
		return put(ctx, p)
	})
	return err
}
