package dlq

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
)

// IndexKey is the sorted set of the entries' job ids.
const IndexKey = "dlq:index"

// EntryKey is the key of a job's entry.
func EntryKey(jobID string) string { return "dlq:entry:" + jobID }

// StatusTerminated is the status of an entry that is about a message, not about a job's end: it
// could never be handled (seed 003, section 9).
const StatusTerminated = "TERMINATED"

// Entry is what triage gets to see of a job, in the shape of seed 004.
type Entry struct {
	JobID          string `json:"job_id"` // of an entry about a message, its place in its stream, as in CORDUM_SYS:2
	Topic          string `json:"topic"`
	Status         string `json:"status"` // the job's terminal state, or StatusTerminated
	ReasonCode     string `json:"reason_code"`
	Reason         string `json:"reason"`
	Attempts       int    `json:"attempts"`
	IdempotencyKey string `json:"idempotency_key"`
	PolicySnapshot string `json:"policy_snapshot"`
	ReplayStatus   string `json:"replay_status"`
	CreatedAt      int64  `json:"created_at"` // unix ms; Put sets it

	// Of an entry whose job is itself a replay: the original's id, and which of its replays the job was.
	ReplayOf    string `json:"replay_of,omitempty"`
	ReplayCount int    `json:"replay_count,omitempty"`

	// What triage made of it; empty before.
	Action       Action `json:"action,omitempty"`
	NextReplayAt int64  `json:"next_replay_at,omitempty"` // unix ms, with replay_status scheduled
	ReplayJob    string `json:"replay_job,omitempty"`     // the job that replays it
	ReplayReason string `json:"replay_reason,omitempty"`  // why it is where it is, in words
	DecidedBy    string `json:"decided_by,omitempty"`     // who approved or denied its replay
}

// Queue is the dead-letter queue. All fields are required. It is safe for concurrent use.
type Queue struct {
	Redis   redis.UniversalClient
	Clock   clockwork.Clock
	TTL     time.Duration // of an entry: 30 days in seed 004
	Timeout time.Duration // of one operation: storeOpTimeout of seed 003
	Replays bool          // entries are put before the replay worker, too
}

// Add writes an entry and its place in the index in one MULTI..EXEC, and trims index members whose
// entries have expired. A job has one entry: a later one replaces it.
func (q *Queue) Add(ctx context.Context, e Entry) error {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	_, err := q.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error { return q.Put(ctx, p, e) })
	if err != nil {
		return fmt.Errorf("dlq entry of %s: %w", e.JobID, err)
	}
	return nil
}

// Put adds to a MULTI what Add writes.
func (q *Queue) Put(ctx context.Context, p redis.Pipeliner, e Entry) error {
	now := q.Clock.Now()
	e.CreatedAt = now.UnixMilli()
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	p.Set(ctx, EntryKey(e.JobID), body, q.TTL)
	p.ZAdd(ctx, IndexKey, redis.Z{Score: float64(e.CreatedAt), Member: e.JobID})
	p.ZRemRangeByScore(ctx, IndexKey, "-inf", strconv.FormatInt(now.Add(-q.TTL).UnixMilli(), 10))
	if q.Replays {
		p.ZAdd(ctx, DueKey, redis.Z{Score: float64(e.CreatedAt), Member: e.JobID})
	}
	return nil
}

// Get returns a job's entry. A job without one is redis.Nil to errors.Is.
func (q *Queue) Get(ctx context.Context, jobID string) (Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	var e Entry
	body, err := q.Redis.Get(ctx, EntryKey(jobID)).Bytes()
	if err == nil {
		err = json.Unmarshal(body, &e)
	}
	if err != nil {
		return Entry{}, fmt.Errorf("dlq entry of %s: %w", jobID, err)
	}
	return e, nil
}
