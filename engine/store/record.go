package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/faultline-sim/faultline/engine/job"
)

// ErrNotFound says that a job has no record. It is redis.Nil to errors.Is, as seed 001 tests it.
var ErrNotFound = fmt.Errorf("no job record: %w", redis.Nil)

// ErrTransition says that a write would make a move that the documented table does not hold.
var ErrTransition = errors.New("not a documented transition")

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
	fieldRequest    = "request"
)

// Record is what the store knows of a job.
type Record struct {
	JobID      string
	State      job.State
	Attempts   int // SCHEDULED writes so far (seed 000, attempt accounting)
	Topic      string
	Tenant     string
	Worker     string // the worker of the last dispatch; empty after a rollback
	Reason     string // of a failure, in words
	ReasonCode string
	CreatedAt  time.Time
	UpdatedAt  time.Time
	Packet     []byte // the request as JSON; see Request
}

// Request decodes the request that the record keeps.
func (r *Record) Request() (job.Request, error) {
	var req job.Request
	if err := json.Unmarshal(r.Packet, &req); err != nil {
		return req, fmt.Errorf("request of %s: %w", r.JobID, err)
	}
	return req, nil
}

// JobKey is the key of a job's record.
func JobKey(jobID string) string { return "job:" + jobID }

// IndexKey is the key of the index of a state.
func IndexKey(s job.State) string { return "job:index:" + string(s) }

// parse fails on a record that cannot be believed: to its reader the job's state is unknown.
func parse(jobID string, m map[string]string) (Record, error) {
	r := Record{
		JobID:      jobID,
		State:      job.State(m[fieldState]),
		Topic:      m[fieldTopic],
		Tenant:     m[fieldTenant],
		Worker:     m[fieldWorker],
		Reason:     m[fieldReason],
		ReasonCode: m[fieldReasonCode],
		Packet:     []byte(m[fieldRequest]),
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
	return r, nil
}

func parseMillis(s string) (time.Time, error) {
	ms, err := strconv.ParseInt(s, 10, 64)
	return time.UnixMilli(ms), err
}
