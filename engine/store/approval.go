package store

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/audit"
	"github.com/wavetank-sim/wavetank/engine/job"
)

// Grant is an approval of a job. Only [Store.Approve] writes one: what a request says of itself is no proof.
type Grant struct {
	Hash string    // of the request that was approved
	At   time.Time // zero is never
	By   string    // in words
}

// Approve writes the grant that decide gives the job, with the request as the grant leaves it. decide sees
// the record as it is, and the time by the clock of Redis, and may see them again if the record changes. Its error is passed
// on. The caller holds no lock, hence the WATCH.
func (s *Store) Approve(ctx context.Context, jobID string, decide func(r *Record, now time.Time) (Grant, []byte, error)) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	key := JobKey(jobID)
	err := s.retried(ctx, key, func(tx *redis.Tx) error {
		r, now, err := s.readWatched(ctx, tx, jobID)
		if err != nil {
			return err
		}
		grant, packet, err := decide(&r, now)
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.HSet(ctx, key, fieldRequest, packet, fieldApprovalHash, grant.Hash, fieldApprovedAt, grant.At.UnixMilli(), fieldApprovedBy, grant.By)
			return audit.Put(ctx, p, audit.Event{At: grant.At.UnixMilli(), Kind: audit.ApprovalGranted, JobID: jobID, Reason: grant.Hash, By: grant.By})
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("approve %s: %w", key, err)
	}
	return nil
}

func (s *Store) readWatched(ctx context.Context, tx *redis.Tx, jobID string) (r Record, now time.Time, err error) {
	var fields *redis.MapStringStringCmd
	var at *redis.TimeCmd
	_, err = tx.Pipelined(ctx, func(p redis.Pipeliner) error {
		fields, at = p.HGetAll(ctx, JobKey(jobID)), p.Time(ctx)
		return nil
	})
	switch {
	case err != nil:
		return Record{}, now, err
	case len(fields.Val()) == 0:
		return Record{}, now, ErrNotFound
	}
	r, err = parse(jobID, fields.Val())
	return r, at.Val(), err
}

// Now is the time by the clock of Redis, which is the same for all replicas.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	return s.Redis.Time(ctx).Result()
}

// AskAgain notes that a job in APPROVAL_REQUIRED, as was read, is to be approved as another request than before. A job
// that is there no more is ErrFenced, and so is, with a fence, a caller who overstayed the job's lock.
func (s *Store) AskAgain(ctx context.Context, read Write, req *job.Request, packet []byte, hash string) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	key := JobKey(req.JobID)
	read.Guessed = read.Guessed || !s.Fence
	err := s.fenced(ctx, read, true, func(tx *redis.Tx, _ Write) error {
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			s.PutRequest(ctx, p, req, packet)
			p.HSet(ctx, key, fieldJobHash, hash, fieldAsks, "the request has changed since") // the kernel's reason was another's
			return audit.Put(ctx, p, audit.Event{At: s.Clock.Now().UnixMilli(), Kind: audit.ApprovalRequired, JobID: req.JobID, Reason: "the request has changed: " + hash})
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("ask again for %s: %w", key, err)
	}
	return nil
}

// PutRequest adds to a MULTI that the record's request is another.
func (s *Store) PutRequest(ctx context.Context, p redis.Pipeliner, req *job.Request, packet []byte) {
	p.HSet(ctx, JobKey(req.JobID), fieldTopic, req.Topic, fieldTenant, req.Tenant, fieldRequest, packet)
}
