package dlq

import (
	"context"
	"encoding/json"
	"errors"
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
// could never be handled (Scheduler internals, section 9).
const StatusTerminated = "TERMINATED"

// Entry is what triage gets to see of a job, in the shape of Dead letters.
type Entry struct {
	JobID          string `json:"job_id"` // of an entry about a message, its place in its stream, as in CORDUM_SYS:2
	Topic          string `json:"topic"`
	Tenant         string `json:"tenant,omitempty"`
	Status         string `json:"status"` // the job's terminal state, or StatusTerminated
	ReasonCode     string `json:"reason_code"`
	LastCause      string `json:"last_cause,omitempty"` // with max_scheduling_retries, the reason code of the last attempt
	Reason         string `json:"reason"`
	Attempts       int    `json:"attempts"`
	IdempotencyKey string `json:"idempotency_key"`
	PolicySnapshot string `json:"policy_snapshot"`
	ReplayStatus   string `json:"replay_status"`
	CreatedAt      int64  `json:"created_at"` // unix ms; Put sets it

	// MessageAt is when the stream stored the message that an entry is about, in unix ns: a stream that begins anew gives its
	// place to another, of another time.
	MessageAt int64 `json:"message_at,omitempty"`

	Fatal bool   `json:"fatal,omitempty"` // its worker called the failure final
	Run   string `json:"run,omitempty"`   // the run that its job is a step of

	// Of an entry whose job is itself a replay: the original's id, and which of its replays the job was.
	ReplayOf    string `json:"replay_of,omitempty"`
	ReplayCount int    `json:"replay_count,omitempty"`

	// What the schedulers' triage made of it; empty before.
	Action        Action `json:"action,omitempty"`
	MaxReplays    int    `json:"max_replays,omitempty"`     // as the policy's rule says; 0 is what the settings say
	NextReplayAt  int64  `json:"next_replay_at,omitempty"`  // unix ms, with replay_status scheduled
	ReplayJob     string `json:"replay_job,omitempty"`      // the job that replays it
	ReplayReason  string `json:"replay_reason,omitempty"`   // why it is where it is, in words
	DecidedBy     string `json:"decided_by,omitempty"`      // who approved, denied or mended its replay
	Owner         string `json:"owner,omitempty"`           // as the policy's rule says
	ApproverGroup string `json:"approver_group,omitempty"`  // likewise
	Mismatch      string `json:"replay_snapshot,omitempty"` // the policy that decides on its replay, where another decided on its job and triage goes by that
	Uncounted     bool   `json:"uncounted,omitempty"`       // a person has denied it, and no scheduler has counted that yet
	Payload       string `json:"payload,omitempty"`         // JSON, which its replay has in place of its job's
	ChangedBy     string `json:"changed_by,omitempty"`      // the scheduler that changed it last; "" is a person's command
}

// Queue is the dead-letter queue. All fields but By are required. It is safe for concurrent use.
type Queue struct {
	By      string // the scheduler that changes entries by it; see Entry.ChangedBy
	Redis   redis.UniversalClient
	Clock   clockwork.Clock
	TTL     time.Duration // of an entry: 30 days in Dead letters
	Timeout time.Duration // of one operation: storeOpTimeout of Scheduler internals
	Replays bool          // entries are put before the replay worker, too
	Apart   bool          // Add writes an entry and the index one after the other: what comes between leaves one without the other (documented)
}

// Add writes an entry and its place in the index in one MULTI..EXEC unless they are written apart, and trims index
// members whose entries have expired. A job has one entry: a later one replaces it.
func (q *Queue) Add(ctx context.Context, e Entry) error {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	var err error
	if q.Apart {
		err = q.Put(ctx, q.Redis, e)
	} else {
		_, err = q.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error { return q.Put(ctx, p, e) })
	}
	if err != nil {
		return fmt.Errorf("dlq entry of %s: %w", e.JobID, err)
	}
	return nil
}

// Put adds to a MULTI what Add writes.
func (q *Queue) Put(ctx context.Context, p redis.Cmdable, e Entry) error {
	e.CreatedAt = q.Clock.Now().UnixMilli()
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := p.Set(ctx, EntryKey(e.JobID), body, q.TTL).Err(); err != nil {
		return err
	}
	return q.index(ctx, p, &e, false)
}

// AddOnce is Add for a writer that comes again with the same failure, because what follows its entry has not
// come about: an entry of that failure stays as it is, with whatever has been decided on it. It says whether it wrote one.
func (q *Queue) AddOnce(ctx context.Context, e Entry) (wrote bool, err error) {
	was, err := q.addOnce(ctx, e)
	switch {
	case err != nil:
		return false, fmt.Errorf("dlq entry of %s: %w", e.JobID, err)
	case was.JobID == "":
		return true, nil
	case was.ReasonCode == e.ReasonCode && was.Status == e.Status && was.MessageAt == e.MessageAt:
		return false, nil
	}
	return true, q.Add(ctx, e)
}

// addOnce returns the entry that there was, if there was one.
func (q *Queue) addOnce(ctx context.Context, e Entry) (was Entry, err error) {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	e.CreatedAt = q.Clock.Now().UnixMilli()
	body, err := json.Marshal(e)
	if err != nil {
		return Entry{}, err
	}
	var there *redis.StringCmd
	_, err = q.Redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		there = p.Get(ctx, EntryKey(e.JobID))
		p.SetNX(ctx, EntryKey(e.JobID), body, q.TTL)
		return q.index(ctx, p, &e, true)
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return Entry{}, err
	}
	if there.Err() == nil && json.Unmarshal([]byte(there.Val()), &was) != nil {
		was = Entry{JobID: e.JobID} // it makes no sense, and is replaced
	}
	return was, nil
}

// index gives an entry its place in the index, and before the replay worker; once leaves a place that it has as it is. In
// a MULTI no command fails before that is sent.
func (q *Queue) index(ctx context.Context, p redis.Cmdable, e *Entry, once bool) error {
	place := redis.ZAddArgs{NX: once, Members: []redis.Z{{Score: float64(e.CreatedAt), Member: e.JobID}}}
	due := func() error {
		if !q.Replays {
			return nil
		}
		return p.ZAddArgs(ctx, DueKey, place).Err()
	}
	if q.Apart { // first, so that what is indexed is due
		if err := due(); err != nil {
			return err
		}
	}
	// The places of entries that have expired go first, one of this job's among them, so that it does not keep its old place.
	if err := p.ZRemRangeByScore(ctx, IndexKey, "-inf", strconv.FormatInt(time.UnixMilli(e.CreatedAt).Add(-q.TTL).UnixMilli(), 10)).Err(); err != nil {
		return err
	}
	if err := p.ZAddArgs(ctx, IndexKey, place).Err(); err != nil || q.Apart {
		return err
	}
	return due()
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

// ErrRefused says that an entry is not one of which that may be done.
var ErrRefused = errors.New("refused")

// refused is an ErrRefused that says why, and what would be right.
func refused(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}
