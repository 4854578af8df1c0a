package saga

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
)

// RollbacksKey is a sorted set: the sagas that are to be rolled back, by when somebody who is not at it
// yet should take that up, in unix ms. A saga that has been rolled back stays for a while, out of
// sight: should another of its jobs succeed, there is more to undo.
const RollbacksKey = "saga:rollbacks"

// StackTTL is how long a stack is kept from its last push on: as long as a dead letter (Dead letters), for whoever
// replays the job that would have rolled it back. A workflow that goes well leaves one behind, of which nobody
// says that it is over, unless it is a run.
const StackTTL = 30 * 24 * time.Hour

// fieldCompensated says in a job's record that its compensation was recorded though the job had ended otherwise.
const fieldCompensated = "compensated"

const (
	closed     = 100 * 365 * 24 * time.Hour // added to when a rollback was done, it is out of sight
	closedKept = 30 * 24 * time.Hour        // for so long
)

// Compensated says whether the job leaves a compensation behind when it succeeds.
func Compensated(req *job.Request) bool { return req.Compensation != nil && req.WorkflowID != "" }

// Record pushes the compensation of a job that has succeeded onto its saga's stack. After an
// error it may have been pushed or not.
func (m *Manager) Record(ctx context.Context, req *job.Request) error {
	ctx, cancel := context.WithTimeout(phase.With(ctx, req.JobID, phase.SagaRecord), m.Timeout)
	defer cancel()
	_, err := m.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error { return m.PutRecord(ctx, p, req) })
	if err != nil {
		return fmt.Errorf("record the compensation of %s: %w", req.JobID, err)
	}
	m.Metrics.Recorded.Inc()
	return nil
}

// RecordAfterAll records the compensation of a job that has succeeded although it had ended otherwise by then, once,
// by a field of its record, which is at that key.
func (m *Manager) RecordAfterAll(ctx context.Context, record string, req *job.Request) error {
	ctx, cancel := context.WithTimeout(phase.With(ctx, req.JobID, phase.SagaRecord), m.Timeout)
	defer cancel()
	done := false
	err := m.Redis.Watch(ctx, func(tx *redis.Tx) (err error) {
		if done, err = tx.HExists(ctx, record, fieldCompensated).Result(); done || err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.HSet(ctx, record, fieldCompensated, "true")
			return m.PutRecord(ctx, p, req)
		})
		return err
	}, record)
	if err != nil {
		return fmt.Errorf("record the compensation of %s, which is over: %w", req.JobID, err)
	}
	if !done {
		m.Metrics.Recorded.Inc()
	}
	return nil
}

// PutRecord adds to a MULTI what Record writes. A saga that was to be rolled back before is to be
// again, which only the server can tell at that instant, hence the XX.
func (m *Manager) PutRecord(ctx context.Context, p redis.Pipeliner, req *job.Request) error {
	entry, err := json.Marshal(Template(req))
	if err != nil {
		return err
	}
	name := Name(req.Tenant, req.WorkflowID)
	p.RPush(ctx, StackKey(name), entry)
	p.Expire(ctx, StackKey(name), StackTTL)
	if m.Durable {
		p.ZAddXX(ctx, RollbacksKey, redis.Z{Score: float64(m.Clock.Now().UnixMilli()), Member: name})
	}
	return nil
}

// PutRollback adds to the MULTI of a job's FAILED that its saga is to be rolled back. It leaves time
// for the rollback that begins at once.
func (m *Manager) PutRollback(ctx context.Context, p redis.Pipeliner, name string) error {
	due := m.Clock.Now().Add(m.Limit)
	return p.ZAdd(ctx, RollbacksKey, redis.Z{Score: float64(due.UnixMilli()), Member: name}).Err()
}

// PutRunFailed adds to the MULTI of a run's FAILED that its saga is to be rolled back, unless that is noted already, by
// the failure of one of its jobs. The next tick takes it up.
func (m *Manager) PutRunFailed(ctx context.Context, p redis.Pipeliner, name string) error {
	return p.ZAddNX(ctx, RollbacksKey, redis.Z{Score: float64(m.Clock.Now().UnixMilli()), Member: name}).Err()
}

// close notes that a saga has been rolled back, unless its stack holds something. It says whether it
// does.
func (m *Manager) close(ctx context.Context, name string) (more bool, err error) {
	ctx, cancel := context.WithTimeout(phase.With(ctx, "", phase.SagaClose), m.Timeout)
	defer cancel()
	err = m.Redis.Watch(ctx, func(tx *redis.Tx) error {
		n, err := tx.LLen(ctx, StackKey(name)).Result()
		if more = n > 0; more || err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			now := m.Clock.Now().Add(closed)
			p.ZAddXX(ctx, RollbacksKey, redis.Z{Score: float64(now.UnixMilli()), Member: name})
			p.ZRemRangeByScore(ctx, RollbacksKey, millis(time.UnixMilli(0).Add(closed)), millis(now.Add(-closedKept)))
			return nil
		})
		return err
	}, StackKey(name))
	if errors.Is(err, redis.TxFailedErr) {
		return true, nil // something was recorded since
	}
	if err != nil {
		return false, fmt.Errorf("close the rollback of %s: %w", name, err)
	}
	return more, nil
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
