package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// ErrNotFound says that a job has no record. It is redis.Nil to errors.Is, as State-read errors tests it.
var ErrNotFound = fmt.Errorf("no job record: %w", redis.Nil)

// ErrTransition says that a write would make a move that the documented table does not hold.
var ErrTransition = errors.New("not a documented transition")

// ErrFenced says that a write was not made: the record, of a job or a run, is no longer what its writer read, or the
// lock that it was to be made under is another's.
var ErrFenced = errors.New("fenced: the record has moved on, or its lock has another owner")

// Fields of the hash job:<id>.
const (
	fieldState      = "state"
	fieldAttempts   = "attempts"
	fieldTopic      = "topic"
	fieldTenant     = "tenant"
	fieldWorker     = "worker"
	fieldReason     = "reason"
	fieldReasonCode = "reason_code"
	fieldCreatedAt  = "created_at"
	fieldUpdatedAt  = "updated_at"
	fieldDeadlineAt = "deadline_at"
	fieldEpoch      = "epoch"
	fieldVersion    = "version"
	fieldRequest    = "request"
	fieldResultPtr  = "result_ptr"
	fieldFatal      = "fatal"
	fieldCancel     = "cancel" // a cancellation's reason; it may stand there before the record

	fieldDecision    = "decision"
	fieldSnapshot    = "policy_snapshot"
	fieldConstraints = "constraints"
	fieldJobHash     = "job_hash"
	fieldAsks        = "approval_reason"

	fieldApprovalHash = "approval_hash"
	fieldApprovedAt   = "approved_at"
	fieldApprovedBy   = "approved_by"
)

// DeadlinesKey is a sorted set: the jobs that have a deadline and are not over, by it in unix ms.
const DeadlinesKey = "job:deadlines"

// Record is what the store knows of a job.
type Record struct {
	JobID      string
	State      job.State
	Attempts   int // SCHEDULED writes so far (Dispatch ordering, attempt accounting)
	Topic      string
	Tenant     string
	Worker     string // the worker of the last dispatch; empty after a rollback
	Reason     string // of a failure, in words
	ReasonCode string
	CreatedAt  time.Time
	UpdatedAt  time.Time
	DeadlineAt time.Time   // zero is never
	Epoch      int64       // of the last dispatch intent; 0 before the first, and without epochs
	Version    int64       // counts the state writes
	Packet     []byte      // the request as JSON; see Request
	ResultPtr  string      // the Redis key of the job's output; "" if there is none
	Fatal      bool        // its worker called its failure final: the workflow that it is part of has failed (Scheduler internals, section 4)
	Decided    Decided     // by the safety kernel
	Grant      Grant       // the last approval; the zero value if there was none
	Kept       *job.Cancel // came before the record; nil if there was none
}

// Decided is what the safety kernel said of a job when it was asked last; the zero value if it never was.
type Decided struct {
	Decision    string            // one of package safety's, or FAIL_OPEN for a job that went on without one
	Snapshot    string            // which policy decided
	Constraints map[string]string // labels that the dispatch has on top of the request's
	JobHash     string            // with REQUIRE_APPROVAL: what the approval must be bound to
	Asks        string            // likewise: why somebody must approve, in words
}

// FailOpen is the decision of a job that went on while the safety kernel could not be reached.
const FailOpen = "FAIL_OPEN"

// fields are those of the record; an earlier decision leaves nothing behind.
func (d *Decided) fields() ([]any, error) {
	constraints := ""
	if len(d.Constraints) > 0 {
		body, err := json.Marshal(d.Constraints)
		if err != nil {
			return nil, err
		}
		constraints = string(body)
	}
	fields := []any{fieldDecision, d.Decision, fieldSnapshot, d.Snapshot, fieldConstraints, constraints}
	if d.JobHash != "" {
		fields = append(fields, fieldJobHash, d.JobHash, fieldAsks, d.Asks)
	}
	return fields, nil
}

// Request decodes the request that the record keeps, with the key that it has been handled by.
func (r *Record) Request() (job.Request, error) {
	var req job.Request
	if err := json.Unmarshal(r.Packet, &req); err != nil {
		return req, fmt.Errorf("request of %s: %w", r.JobID, err)
	}
	req.DefaultKey()
	return req, nil
}

// Move is the write that takes the job to another state from where the record says it is.
func (r *Record) Move(to job.State) Write {
	return Write{JobID: r.JobID, Tenant: r.Tenant, From: r.State, Version: r.Version, Epoch: r.Epoch, To: to}
}

// Moved brings the record up to date with a write that was confirmed.
func (r *Record) Moved(w *Write, out Written) {
	r.State, r.Version, r.Epoch = w.To, out.Version, out.Epoch
	if w.To == job.Scheduled {
		r.Attempts = out.Attempts
	}
	switch {
	case w.To == job.Dispatched || w.Worker != "":
		r.Worker = w.Worker
	case w.From == job.Dispatched && w.To == job.Scheduled:
		r.Worker = ""
	}
	if w.Decided != nil {
		r.Decided = *w.Decided
	}
	if w.Reason != "" || w.ReasonCode != "" {
		r.Reason, r.ReasonCode = w.Reason, w.ReasonCode
	}
	if w.ResultPtr != "" {
		r.ResultPtr = w.ResultPtr
	}
}

// JobKey is the key of a job's record.
func JobKey(jobID string) string { return "job:" + jobID }

// IndexKey is the key of the index of a state.
func IndexKey(s job.State) string { return "job:index:" + string(s) }

// KeepCancel stores a cancellation where its job's record will be. The caller holds the job's lock.
func (s *Store) KeepCancel(ctx context.Context, c *job.Cancel) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	if err := s.Redis.HSetNX(ctx, JobKey(c.JobID), fieldCancel, c.Reason).Err(); err != nil {
		return fmt.Errorf("keep the cancellation of %s: %w", JobKey(c.JobID), err)
	}
	return nil
}

// KeepCancelAhead stores a cancellation where its job's record will be, unless there is a record: its scheduler is to be told
// of the cancellation then. The caller holds no lock, hence the WATCH.
func (s *Store) KeepCancelAhead(ctx context.Context, c *job.Cancel) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	key := JobKey(c.JobID)
	err := s.Redis.Watch(ctx, func(tx *redis.Tx) error {
		n, err := tx.Exists(ctx, key).Result()
		if err != nil || n > 0 {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.HSetNX(ctx, key, fieldCancel, c.Reason)
			return nil
		})
		return err
	}, key)
	if err != nil && !errors.Is(err, redis.TxFailedErr) { // it has just come to be there
		return fmt.Errorf("keep the cancellation of %s: %w", key, err)
	}
	return nil
}

// parse fails on a record that cannot be believed: to its reader the job's state is unknown. Where there is no more
// than a cancellation, it is ErrNotFound, and the record returned has that.
func parse(jobID string, m map[string]string) (Record, error) {
	var kept *job.Cancel
	if reason, ok := m[fieldCancel]; ok {
		kept = &job.Cancel{JobID: jobID, Reason: reason}
		if len(m) == 1 {
			return Record{JobID: jobID, Kept: kept}, fmt.Errorf("%s: %w", JobKey(jobID), ErrNotFound)
		}
	}
	r := Record{
		Kept:       kept,
		JobID:      jobID,
		State:      job.State(m[fieldState]),
		Topic:      m[fieldTopic],
		Tenant:     m[fieldTenant],
		Worker:     m[fieldWorker],
		Reason:     m[fieldReason],
		ReasonCode: m[fieldReasonCode],
		Packet:     []byte(m[fieldRequest]),
		ResultPtr:  m[fieldResultPtr],
		Decided:    Decided{Decision: m[fieldDecision], Snapshot: m[fieldSnapshot], JobHash: m[fieldJobHash], Asks: m[fieldAsks]},
		Fatal:      m[fieldFatal] == "true",
	}
	if !r.State.Valid() {
		return Record{}, fmt.Errorf("%s holds the unknown state %q", JobKey(jobID), r.State)
	}
	var err error
	if r.Attempts, err = strconv.Atoi(m[fieldAttempts]); err != nil {
		return Record{}, fmt.Errorf("%s: attempts: %w", JobKey(jobID), err)
	}
	if r.CreatedAt, err = parseMillis(m[fieldCreatedAt]); err != nil {
		return Record{}, fmt.Errorf("%s: created_at: %w", JobKey(jobID), err)
	}
	if r.UpdatedAt, err = parseMillis(m[fieldUpdatedAt]); err != nil {
		return Record{}, fmt.Errorf("%s: updated_at: %w", JobKey(jobID), err)
	}
	if m[fieldDeadlineAt] != "" {
		if r.DeadlineAt, err = parseMillis(m[fieldDeadlineAt]); err != nil {
			return Record{}, fmt.Errorf("%s: deadline_at: %w", JobKey(jobID), err)
		}
	}
	if r.Epoch, err = parseCount(m[fieldEpoch]); err != nil {
		return Record{}, fmt.Errorf("%s: epoch: %w", JobKey(jobID), err)
	}
	if r.Version, err = parseCount(m[fieldVersion]); err != nil {
		return Record{}, fmt.Errorf("%s: version: %w", JobKey(jobID), err)
	}
	if m[fieldApprovedAt] != "" {
		r.Grant = Grant{Hash: m[fieldApprovalHash], By: m[fieldApprovedBy]}
		if r.Grant.At, err = parseMillis(m[fieldApprovedAt]); err != nil {
			return Record{}, fmt.Errorf("%s: approved_at: %w", JobKey(jobID), err)
		}
	}
	if text := m[fieldConstraints]; text != "" {
		if err := json.Unmarshal([]byte(text), &r.Decided.Constraints); err != nil {
			return Record{}, fmt.Errorf("%s: constraints: %w", JobKey(jobID), err)
		}
	}
	return r, nil
}

// parseCount reads a field that counts from 0; one that was never written is 0.
func parseCount(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	return strconv.ParseInt(s, 10, 64)
}

func parseMillis(s string) (time.Time, error) {
	ms, err := strconv.ParseInt(s, 10, 64)
	return time.UnixMilli(ms), err
}
