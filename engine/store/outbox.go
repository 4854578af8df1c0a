package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// The outbox (Dispatch ordering): dispatches that are decided and not yet known to be published, a job has
// one at most. An entry comes and goes with a state write, in its MULTI.
const (
	OutboxKey    = "cordum:scheduler:outbox"     // a hash: entries as JSON, by job id
	OutboxDueKey = "cordum:scheduler:outbox:due" // a sorted set: job ids, by when a relay is to look at the entry, in unix ms
)

// Entry is a dispatch in the outbox.
type Entry struct {
	Subject  string          `json:"subject"`
	Topic    string          `json:"topic"`
	Attempts int             `json:"attempts"`
	Epoch    int64           `json:"epoch,omitempty"` // 0 without epochs
	Once     bool            `json:"once,omitempty"`  // the stream is to store one dispatch of the epoch
	Started  int64           `json:"started"`         // when the handling began that wrote it, in unix ms
	Body     json.RawMessage `json:"body"`            // the message, idempotency key included: a repetition is the same

	DueAfter time.Duration `json:"-"` // the write: until then the entry is left to its writer
}

func (e *Entry) put(ctx context.Context, p redis.Pipeliner, jobID string, nowMS int64) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	p.HSet(ctx, OutboxKey, jobID, data)
	p.ZAdd(ctx, OutboxDueKey, redis.Z{Score: float64(nowMS + e.DueAfter.Milliseconds()), Member: jobID})
	return nil
}

func takeOut(ctx context.Context, p redis.Pipeliner, jobID string) {
	p.HDel(ctx, OutboxKey, jobID)
	p.ZRem(ctx, OutboxDueKey, jobID)
}

// Due lists the jobs whose entries are due, the longest due first, at most limit of them.
func (s *Store) Due(ctx context.Context, limit int) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	ids, err := s.Redis.ZRangeByScore(ctx, OutboxDueKey, &redis.ZRangeBy{
		Min: "-inf", Max: strconv.FormatInt(s.Clock.Now().UnixMilli(), 10), Count: int64(limit),
	}).Result()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", OutboxDueKey, err)
	}
	return ids, nil
}

// Claim reads a job's entry together with what a write must know of the job's record, and puts off
// when it is due next, so that an entry whose publish fails does not stand in the way of others. The
// caller holds the job's lock. The entry is nil for a job without one.
func (s *Store) Claim(ctx context.Context, jobID string, again time.Duration) (*Entry, Record, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	var record, entry *redis.SliceCmd
	_, err := s.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		record = p.HMGet(ctx, JobKey(jobID), fieldState, fieldVersion, fieldEpoch, fieldWorker, fieldTenant)
		entry = p.HMGet(ctx, OutboxKey, jobID)
		p.ZAddXX(ctx, OutboxDueKey, redis.Z{Score: float64(s.Clock.Now().Add(again).UnixMilli()), Member: jobID})
		return nil
	})
	if err != nil {
		return nil, Record{}, fmt.Errorf("claim %s in %s: %w", jobID, OutboxKey, err)
	}
	word := func(i int) string { s, _ := record.Val()[i].(string); return s }
	r := Record{JobID: jobID, State: job.State(word(0)), Worker: word(3), Tenant: word(4)}
	if r.Version, err = parseCount(word(1)); err != nil {
		return nil, Record{}, fmt.Errorf("%s: version: %w", JobKey(jobID), err)
	}
	if r.Epoch, err = parseCount(word(2)); err != nil {
		return nil, Record{}, fmt.Errorf("%s: epoch: %w", JobKey(jobID), err)
	}
	data, ok := entry.Val()[0].(string)
	if !ok {
		return nil, r, nil
	}
	var e Entry
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return nil, Record{}, fmt.Errorf("%s of %s: %w", OutboxKey, jobID, err)
	}
	r.Topic, r.Attempts = e.Topic, e.Attempts
	return &e, r, nil
}
