package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

	"github.com/faultline-sim/faultline/engine/job"
)

// Store reads and writes job records. All fields but Cache are required. It is safe for concurrent
// use.
type Store struct {
	Redis   redis.UniversalClient
	Clock   clockwork.Clock
	Timeout time.Duration // of one operation: storeOpTimeout of seed 003
	Cache   *Cache        // is told what is read and written; nil remembers nothing
}

// Read returns a job's record. A job without one is ErrNotFound; any other error means that the
// state is unknown.
func (s *Store) Read(ctx context.Context, jobID string) (Record, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	m, err := s.Redis.HGetAll(ctx, JobKey(jobID)).Result()
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
	err = s.Redis.Watch(ctx, func(tx *redis.Tx) error {
		n, err := tx.Exists(ctx, key).Result()
		if err != nil || n > 0 {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			now := s.Clock.Now().UnixMilli()
			p.HSet(ctx, key, fieldState, string(job.Pending), fieldAttempts, 0,
				fieldTopic, req.Topic, fieldTenant, req.Tenant,
				fieldCreatedAt, now, fieldUpdatedAt, now, fieldRequest, packet)
			p.ZAdd(ctx, IndexKey(job.Pending), redis.Z{Score: float64(now), Member: req.JobID})
			return nil
		})
		created = err == nil
		return err
	}, key)
	if errors.Is(err, redis.TxFailedErr) {
		return false, nil // another submission of the same job came between
	}
	if err != nil {
		return false, fmt.Errorf("create %s: %w", key, err)
	}
	return created, nil
}

// Adopt writes PENDING for a job that arrived without a record, or whose record could not be read
// (fail-open). Attempts and the time of creation survive in a record that exists after all.
func (s *Store) Adopt(ctx context.Context, req *job.Request, packet []byte) error {
	_, err := s.write(ctx, Write{JobID: req.JobID, From: job.Absent, To: job.Pending}, func(p redis.Pipeliner, now int64) {
		key := JobKey(req.JobID)
		p.HSet(ctx, key, fieldTopic, req.Topic, fieldTenant, req.Tenant, fieldRequest, packet)
		p.HSetNX(ctx, key, fieldAttempts, 0)
		p.HSetNX(ctx, key, fieldCreatedAt, now)
	})
	return err
}

// Write is one move of a job.
type Write struct {
	JobID      string
	From       job.State // as read under the job's lock
	Guessed    bool      // From was not read: the job may be in another state after all
	To         job.State
	Worker     string // with To DISPATCHED: whom it goes to
	Reason     string // of a failure, in words
	ReasonCode string
	Enter      *Entry // is put into the outbox with the move
	Leave      bool   // the job's entry is taken out of the outbox with the move
}

// Write makes the move in one MULTI..EXEC. A move to SCHEDULED counts an attempt, and the record's
// attempts are returned; they are 0 for other moves. A move that the table does not hold is
// ErrTransition and touches nothing; after any other error the move may have been made or not.
func (s *Store) Write(ctx context.Context, w Write) (attempts int, err error) {
	return s.write(ctx, w, nil)
}

func (s *Store) write(ctx context.Context, w Write, more func(p redis.Pipeliner, nowMS int64)) (int, error) {
	key := JobKey(w.JobID)
	if !job.CanMove(w.From, w.To) {
		return 0, fmt.Errorf("%s from %q to %q: %w", key, w.From, w.To, ErrTransition)
	}
	attempts, err := s.move(ctx, key, w, more)
	if err != nil {
		s.Cache.forget(w.JobID) // the move may have been made or not
		return 0, fmt.Errorf("write %s to %s: %w", w.To, key, err)
	}
	s.Cache.wrote(&w, attempts)
	return attempts, nil
}

func (s *Store) move(ctx context.Context, key string, w Write, more func(p redis.Pipeliner, nowMS int64)) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	var attempts *redis.IntCmd
	_, err := s.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		now := s.Clock.Now().UnixMilli()
		fields := []any{fieldState, string(w.To), fieldUpdatedAt, now}
		switch {
		case w.To == job.Dispatched:
			fields = append(fields, fieldWorker, w.Worker)
		case w.From == job.Dispatched && w.To == job.Scheduled:
			fields = append(fields, fieldWorker, "")
		}
		if w.Reason != "" || w.ReasonCode != "" {
			fields = append(fields, fieldReason, w.Reason, fieldReasonCode, w.ReasonCode)
		}
		p.HSet(ctx, key, fields...)
		if w.To == job.Scheduled {
			attempts = p.HIncrBy(ctx, key, fieldAttempts, 1)
		}
		if more != nil {
			more(p, now)
		}
		if w.Enter != nil {
			if err := w.Enter.put(ctx, p, w.JobID, now); err != nil {
				return err
			}
		}
		if w.Leave {
			takeOut(ctx, p, w.JobID)
		}
		for _, from := range job.States {
			// Where the job came from is unknown, an older entry may be in any index.
			if from != w.To && (from == w.From || w.From == job.Absent || w.Guessed) {
				p.ZRem(ctx, IndexKey(from), w.JobID)
			}
		}
		p.ZAdd(ctx, IndexKey(w.To), redis.Z{Score: float64(now), Member: w.JobID})
		return nil
	})
	if err != nil || attempts == nil {
		return 0, err
	}
	return int(attempts.Val()), nil
}
