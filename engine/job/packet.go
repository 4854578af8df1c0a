package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// NATS headers of messages about a job.
const (
	Header      = "Job-Id"    // on every one: the job's id
	HeaderEpoch = "Job-Epoch" // on a dispatch, a result and a cancel notice: its epoch, if it has one
	HeaderVoid  = "Job-Void"  // on what stands in a dispatch's place: there is nothing to do
)

// deadlineMSMax is a hundred years: what a deadline may be, so that no sum overflows.
const deadlineMSMax = 100 * 365 * 24 * 3600 * 1000

// idBytesMax bounds ids, which end up in Redis keys, NATS headers and NATS subjects.
const idBytesMax = 256

// Labels that a request may carry (Scheduler internals, sections 1 and 5).
const (
	LabelPreferredPool   = "preferred_pool"      // restricts the dispatch to one pool
	LabelPreferredWorker = "preferred_worker_id" // takes that worker if it can have the job
	LabelApprovalGranted = "approval_granted"    // "true": a job in APPROVAL_REQUIRED may go on, if its record says so too
	LabelApprovalHash    = "approval_hash"       // of what was approved; see [Request.Hash]
	LabelApprovedAt      = "approved_at"         // in unix ms
	LabelApprovedBy      = "approved_by"         // by whom, in words
)

// Request asks for a job to be done: the packet on sys.job.submit.
type Request struct {
	JobID          string            `json:"job_id"`                    // chosen by the submitter; submitting it twice is one job
	Topic          string            `json:"topic"`                     // routes the job to its pools
	Tenant         string            `json:"tenant,omitempty"`          //
	Priority       string            `json:"priority,omitempty"`        //
	Labels         map[string]string `json:"labels,omitempty"`          // see LabelPreferredPool
	Requires       []string          `json:"requires,omitempty"`        // capabilities that the pool must offer (Scheduler internals, section 5)
	IdempotencyKey string            `json:"idempotency_key,omitempty"` // by which workers and sinks know a repetition (Dead letters); see DefaultKey
	Payload        json.RawMessage   `json:"payload,omitempty"`         // for the worker; the scheduler does not look at it
	TraceID        string            `json:"trace_id,omitempty"`        //
	Budget         *Budget           `json:"budget,omitempty"`          //
	WorkflowID     string            `json:"workflow_id,omitempty"`     // whose saga the job is part of (Scheduler internals, section 4)
	StepIndex      int               `json:"step_index,omitempty"`      // its place in the workflow
	Capability     string            `json:"capability,omitempty"`      // what it does there; part of its compensation's key
	Env            map[string]string `json:"env,omitempty"`             // for the worker
	Compensation   *Compensation     `json:"compensation,omitempty"`    // what undoes the job once it has succeeded
}

// Compensation overrides the fields of a request to make the job that undoes it; what it leaves empty is
// as in the request (Scheduler internals, section 4). Its priority is CRITICAL whatever it says.
type Compensation struct {
	Topic          string            `yaml:"topic,nonempty" json:"topic,omitempty"`
	Payload        json.RawMessage   `yaml:"payload" json:"payload,omitempty"`        // the document's context
	Labels         map[string]string `yaml:"labels,nonempty" json:"labels,omitempty"` // on top of the request's
	Env            map[string]string `yaml:"env,nonempty" json:"env,omitempty"`       // likewise
	Budget         *Budget           `yaml:"budget" json:"budget,omitempty"`
	Capability     string            `yaml:"capability,nonempty" json:"capability,omitempty"`
	IdempotencyKey string            `yaml:"idempotency_key,nonempty" json:"idempotency_key,omitempty"` // else a hash of what is compensated
}

// Budget bounds what a job may take.
type Budget struct {
	DeadlineMS int64 `yaml:"deadline_ms,required" json:"deadline_ms"` // after its submission a job that has not ended times out, at the reconciler's next tick or when its request comes again, in milliseconds; 0 is never (Scheduler internals, section 3)
}

// DefaultKey gives a request without an idempotency key its job id for one.
func (r *Request) DefaultKey() {
	if r.IdempotencyKey == "" {
		r.IdempotencyKey = r.JobID
	}
}

// Validate says what keeps a request from being handled, or nil.
func (r *Request) Validate() error {
	if err := validateID("job_id", r.JobID); err != nil {
		return err
	}
	if r.Topic == "" {
		return errors.New("topic is empty; it must name what the job is for, as in job.default")
	}
	if err := validateWork(r.Topic, r.Budget); err != nil {
		return err
	}
	err := validateText("tenant, priority, requires, idempotency_key, trace_id or workflow_id",
		append([]string{r.Tenant, r.Priority, r.IdempotencyKey, r.TraceID, r.WorkflowID}, r.Requires...)...)
	if err == nil {
		err = validateGiven(r.Labels, r.Env, r.Payload, r.Capability)
	}
	if err != nil {
		return err
	}
	if c := r.Compensation; c != nil { // a job that could not be undone is better not done
		if err = validateWork(c.Topic, c.Budget); err == nil {
			err = validateText("idempotency_key", c.IdempotencyKey)
		}
		if err == nil {
			err = validateGiven(c.Labels, c.Env, c.Payload, c.Capability)
		}
		if err != nil {
			return fmt.Errorf("compensation: %w", err)
		}
	}
	return nil
}

// validateText refuses bytes that JSON would replace: the packet would say something else than its submitter, and
// than the keys that are made of it.
func validateText(fields string, texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return fmt.Errorf("%s: %.40q is not valid UTF-8", fields, text)
		}
	}
	return nil
}

// validateGiven says what is wrong with what a job and its compensation are given alike.
func validateGiven(labels, env map[string]string, payload json.RawMessage, capability string) error {
	if _, is := labels[""]; is {
		return errors.New("labels has an empty key; a label must have a name")
	}
	if !utf8.Valid(payload) {
		return errors.New("payload is not valid UTF-8, as JSON must be")
	}
	switch {
	case !isText(labels):
		return errors.New("labels holds text that is not valid UTF-8")
	case !isText(env):
		return errors.New("env holds text that is not valid UTF-8")
	}
	return validateText("capability", capability)
}

func isText(m map[string]string) bool {
	for key, value := range m {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return false
		}
	}
	return true
}

// validateWork says what is wrong with a topic, which may be empty, or a budget, which may be nil.
func validateWork(topic string, b *Budget) error {
	for token := range strings.SplitSeq(topic, ".") {
		if topic != "" && !IsToken(token) {
			return fmt.Errorf("topic %q is not a subject; it must be words joined by dots, as in job.default", topic)
		}
	}
	if b != nil && (b.DeadlineMS < 0 || b.DeadlineMS > deadlineMSMax) {
		return fmt.Errorf("budget.deadline_ms is %d; it must be from 0, which is never, to %d", b.DeadlineMS, int64(deadlineMSMax))
	}
	return nil
}

func validateID(field, id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%s is empty", field)
	case len(id) > idBytesMax:
		return fmt.Errorf("%s has %d bytes; it must have at most %d", field, len(id), idBytesMax)
	case strings.HasPrefix(id, "index:"):
		return fmt.Errorf("%s %q begins with index:, which the store keeps for itself", field, id)
	case id == "deadlines":
		return fmt.Errorf("%s %q is a key that the store keeps for itself", field, id)
	case !IsToken(id):
		return fmt.Errorf("%s %q holds a space, a control character, '.', '*', '>' or what is not UTF-8; it must be one token of a NATS subject", field, id)
	}
	return nil
}

// IsToken says whether s can be one token of a NATS subject.
func IsToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f || c == '.' || c == '*' || c == '>' {
			return false
		}
	}
	return s != "" && utf8.ValidString(s) // JSON would make another token of it
}

// Dispatch hands a job to a worker: the packet on worker.<id>.jobs, or on the topic.
type Dispatch struct {
	JobID          string            `json:"job_id"`
	Topic          string            `json:"topic"`
	Tenant         string            `json:"tenant,omitempty"`    // whose the idempotency key is
	WorkerID       string            `json:"worker_id,omitempty"` // empty on the topic
	Attempt        int               `json:"attempt"`             // the record's attempts at this dispatch
	Epoch          int64             `json:"epoch,omitempty"`     // which of the job's intents this is; 0 without epochs
	IdempotencyKey string            `json:"idempotency_key,omitempty"`
	Payload        json.RawMessage   `json:"payload,omitempty"`
	TraceID        string            `json:"trace_id,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"` // the request's, as those that say what a compensation undoes (Scheduler internals, section 4)
	Env            map[string]string `json:"env,omitempty"`    // likewise
}

// Void takes the place of a dispatch that is not to come, on the subject that it would have had. It
// says what was decided of the job, for whoever comes after a replica that could not write it down.
type Void struct {
	JobID  string `json:"job_id"`
	Topic  string `json:"topic"`
	Epoch  int64  `json:"epoch"`            // whose dispatch is not to come
	End    State  `json:"end,omitempty"`    // CANCELLED or TIMEOUT; SCHEDULED for a job that is to go to another worker
	Reason string `json:"reason,omitempty"` // of the end, in words
}

// Status is a worker's verdict on a job.
type Status string

// The statuses of a result (Scheduler internals, sections 1 and 4).
const (
	StatusSucceeded   Status = "SUCCEEDED"
	StatusFailed      Status = "FAILED"
	StatusFailedFatal Status = "FAILED_FATAL" // failed, and its workflow is to be rolled back
	StatusCancelled   Status = "CANCELLED"
	StatusTimeout     Status = "TIMEOUT"
)

// State is the terminal state that a status leads to, or Absent for a status that does not exist.
func (s Status) State() State {
	switch s {
	case StatusSucceeded:
		return Succeeded
	case StatusFailed, StatusFailedFatal:
		return Failed
	case StatusCancelled:
		return Cancelled
	case StatusTimeout:
		return Timeout
	}
	return Absent
}

// Result is a worker's word on a job: the packet on sys.job.result.
type Result struct {
	JobID      string `json:"job_id"`
	WorkerID   string `json:"worker_id"`
	Status     Status `json:"status"`
	Reason     string `json:"reason,omitempty"`
	ReasonCode string `json:"reason_code,omitempty"`
	Epoch      int64  `json:"epoch,omitempty"`      // of the dispatch that it answers
	ResultPtr  string `json:"result_ptr,omitempty"` // the Redis key that holds the output; empty if there is none
}

// Cancel asks for a job to be cancelled: the packet on sys.job.cancel; and tells its worker so: the
// packet on worker.<id>.cancel.
type Cancel struct {
	JobID  string `json:"job_id"`
	Reason string `json:"reason,omitempty"`
	Epoch  int64  `json:"epoch,omitempty"` // to a worker: of the dispatch that it need not do
}

// Validate says what keeps a cancellation from being handled, or nil.
func (c *Cancel) Validate() error { return validateID("job_id", c.JobID) }

// Validate says what keeps a result from being handled, or nil.
func (r *Result) Validate() error {
	if err := validateID("job_id", r.JobID); err != nil {
		return err
	}
	if r.Status.State() == Absent {
		return fmt.Errorf("status is %q; it must be SUCCEEDED, FAILED, FAILED_FATAL, CANCELLED or TIMEOUT", r.Status)
	}
	return nil
}

// Heartbeat is what a worker says of itself on sys.heartbeat.
type Heartbeat struct {
	WorkerID        string            `json:"worker_id"`
	Pool            string            `json:"pool"`
	Topics          []string          `json:"topics,omitempty"`          // what it takes; empty takes every topic of its pool
	ActiveJobs      int               `json:"active_jobs"`               //
	MaxParallelJobs int               `json:"max_parallel_jobs"`         // 0: it does not say
	CPULoad         float64           `json:"cpu_load"`                  // percent
	GPUUtilization  float64           `json:"gpu_utilization,omitempty"` // percent
	Labels          map[string]string `json:"labels,omitempty"`
	Capabilities    []string          `json:"capabilities,omitempty"`
	Stopping        bool              `json:"stopping,omitempty"` // it takes no more; it says that it is full, too, whatever it executes
}

// Validate says what keeps a heartbeat from being believed, or nil. A worker's id need not be a
// subject token: a worker without an address of its own is reached through its topic.
func (h *Heartbeat) Validate() error {
	switch {
	case h.WorkerID == "":
		return errors.New("worker_id is empty")
	case h.ActiveJobs < 0 || h.MaxParallelJobs < 0 || h.CPULoad < 0 || h.GPUUtilization < 0:
		return fmt.Errorf("worker %q reports a negative load", h.WorkerID)
	}
	return nil
}
