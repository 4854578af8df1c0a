package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// Store reads and writes job records. All fields but Cache are required. It is safe for concurrent
// use.
type Store struct {
	Redis   redis.UniversalClient
	Clock   clockwork.Clock
	Timeout time.Duration // of one operation: storeOpTimeout of Scheduler internals
	Cache   *Cache        // is told what is read and written; nil remembers nothing
	Fence   bool          // a write is a compare-and-set on what was read, and on the lock that its context holds
	Epochs  bool          // a move to DISPATCHED mints an epoch
	Watch   Watch         // hears of state reads and writes; nil is nobody
	Tenants bool          // each state write keeps the set of its tenant's jobs in flight (tenantKey)
}

// Read returns a job's record. A job without one is ErrNotFound; any other error means that the
// state is unknown.
func (s *Store) Read(ctx context.Context, jobID string) (Record, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	done := s.watched(false)
	m, err := s.Redis.HGetAll(ctx, JobKey(jobID)).Result()
	done(err)
	if err != nil {
		return Record{}, fmt.Errorf("read %s: %w", JobKey(jobID), err)
	}
	if len(m) == 0 {
		s.Cache.forget(jobID)
		return Record{}, fmt.Errorf("%s: %w", JobKey(jobID), ErrNotFound)
	}
	r, err := parse(jobID, m)
	if err == nil {
		s.Cache.read(&r)
	}
	return r, err
}

// Create stores a submitted request as PENDING, unless the job has a record already, which it then
// leaves alone. It reports whether it created one. The submitter holds no lock, hence the WATCH.
func (s *Store) Create(ctx context.Context, req *job.Request, packet []byte) (created bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	key := JobKey(req.JobID)
	err = s.retried(ctx, key, func(tx *redis.Tx) error {
		there, err := Exists(ctx, tx, req.JobID).Result()
		if err != nil || there {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			s.Put(ctx, p, req, packet)
			return nil
		})
		created = err == nil
		return err
	})
	if err != nil {
		return false, fmt.Errorf("create %s: %w", key, err)
	}
	return created, nil
}

// Exists asks whether a job has a record. A cancellation that was kept ahead is in the same hash, and is none.
func Exists(ctx context.Context, c redis.Cmdable, jobID string) *redis.BoolCmd {
	return c.HExists(ctx, JobKey(jobID), fieldState)
}

// Put adds to a MULTI what Create stores. That there is no such job yet is the caller's to WATCH.
func (s *Store) Put(ctx context.Context, p redis.Pipeliner, req *job.Request, packet []byte) {
	now := s.Clock.Now().UnixMilli()
	p.HSet(ctx, JobKey(req.JobID), fieldState, string(job.Pending), fieldAttempts, 0,
		fieldTopic, req.Topic, fieldTenant, req.Tenant,
		fieldCreatedAt, now, fieldUpdatedAt, now, fieldVersion, 1, fieldRequest, packet)
	s.expect(ctx, p, req, now)
	p.ZAdd(ctx, IndexKey(job.Pending), redis.Z{Score: float64(now), Member: req.JobID})
}

// Adopt writes PENDING for a job that arrived without a record, or whose record could not be read
// (fail-open). Attempts, epoch, deadline and the time of creation survive in a record that exists after all,
// which only a fence keeps from going back to PENDING.
func (s *Store) Adopt(ctx context.Context, req *job.Request, packet []byte) (Written, error) {
	return s.write(ctx, Write{JobID: req.JobID, Tenant: req.Tenant, From: job.Absent, To: job.Pending}, func(p redis.Pipeliner, now int64) {
		key := JobKey(req.JobID)
		p.HSet(ctx, key, fieldTopic, req.Topic, fieldTenant, req.Tenant, fieldRequest, packet)
		p.HSetNX(ctx, key, fieldAttempts, 0)
		p.HSetNX(ctx, key, fieldCreatedAt, now)
		s.expect(ctx, p, req, now)
	})
}

// expect notes a job's deadline, unless it has one already.
func (s *Store) expect(ctx context.Context, p redis.Pipeliner, req *job.Request, nowMS int64) {
	if req.Budget == nil || req.Budget.DeadlineMS <= 0 {
		return
	}
	deadline := nowMS + req.Budget.DeadlineMS
	p.HSetNX(ctx, JobKey(req.JobID), fieldDeadlineAt, deadline)
	p.ZAddNX(ctx, DeadlinesKey, redis.Z{Score: float64(deadline), Member: req.JobID})
}
