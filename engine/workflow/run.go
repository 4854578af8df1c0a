package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// State is where a run is in its life.
type State string

// The states of a run. All but Running are terminal.
const (
	Running   State = "RUNNING"
	Succeeded State = "SUCCEEDED" // every step has
	Failed    State = "FAILED"    // a step has, beyond its retries; no further step is submitted
)

// StepState is where a step is.
type StepState string

// The states of a step.
const (
	StepPending   StepState = "PENDING"   // one that it depends on has not succeeded
	StepWaiting   StepState = "WAITING"   // until its next_attempt_at
	StepSubmitted StepState = "SUBMITTED" // its job is decided on, and is, or is about to be, submitted
	StepSucceeded StepState = "SUCCEEDED"
	StepFailed    StepState = "FAILED"
)

// Bounds of a run.
const (
	stepsMax = 1000
	delayMax = 365 * 24 * time.Hour
	retryMax = 1000
)

// Run is one run of a workflow, as Redis keeps it. Who starts it gives the first four fields.
type Run struct {
	RunID      string `yaml:"run_id,required,nonempty" json:"run_id"`           // chosen by who starts it; starting it twice is one run
	WorkflowID string `yaml:"workflow_id,required,nonempty" json:"workflow_id"` // what it is a run of
	Tenant     string `yaml:"tenant,nonempty" json:"tenant,omitempty"`
	Steps      []Step `yaml:"steps,required" json:"steps"`

	State     State  `json:"state"`
	Reason    string `json:"reason,omitempty"` // of a failure, in words
	CreatedAt int64  `json:"created_at"`       // unix milliseconds, as all times of it
	UpdatedAt int64  `json:"updated_at"`
	Version   int64  `json:"version"` // counts the writes
}

// Step is one job of a run, or one after the other until one succeeds.
type Step struct {
	ID           string            `yaml:"id,required,nonempty" json:"id"`
	Topic        string            `yaml:"topic,required,nonempty" json:"topic"`
	DependsOn    []string          `yaml:"depends_on,nonempty" json:"depends_on,omitempty"`  // the steps that are to succeed first
	DelaySec     int64             `yaml:"delay_sec" json:"delay_sec,omitempty"`             // how long after that, in seconds
	DelayUntil   int64             `yaml:"delay_until,instant" json:"delay_until,omitempty"` // and not before then
	Retry        Retry             `yaml:"retry" json:"retry,omitzero"`
	Payload      json.RawMessage   `yaml:"payload" json:"payload,omitempty"`
	Labels       map[string]string `yaml:"labels,nonempty" json:"labels,omitempty"`
	Capability   string            `yaml:"capability,nonempty" json:"capability,omitempty"`
	Compensation *job.Compensation `yaml:"compensation" json:"compensation,omitempty"` // what undoes the step once one is FAILED_FATAL (Scheduler internals, section 4); with durable_rollback, whenever the run fails

	State         StepState `json:"state"`
	Attempt       int       `json:"attempt,omitempty"`         // under way, or the last one; the first is 1
	NextAttemptAt int64     `json:"next_attempt_at,omitempty"` // of that attempt: its job is not submitted before; 0 is at once
	JobID         string    `json:"job_id,omitempty"`          // the job of that attempt, once it is decided on
	EndedAt       int64     `json:"ended_at,omitempty"`        // when its last job ended, by that job's record
	Reason        string    `json:"reason,omitempty"`          // of its last failure
}

// Retry says how often a step is tried again after a failure, and how long after it.
type Retry struct {
	Max       int   `yaml:"max,required" json:"max"`      // tries after the first
	BackoffMS int64 `yaml:"backoff_ms" json:"backoff_ms"` // before the first of them, in milliseconds; it doubles with each
}

// backoff is how long after its n-th failure a step is tried again.
func (r Retry) backoff(n int) time.Duration {
	d := time.Duration(r.BackoffMS) * time.Millisecond
	for range n - 1 {
		if d = 2 * d; d > delayMax {
			return delayMax
		}
	}
	return d
}

// Over says whether nothing is left to do of the run.
func (r *Run) Over() bool { return r.State != Running }

// Compensated says whether a step of the run leaves a compensation behind.
func (r *Run) Compensated() bool {
	return slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Compensation != nil })
}

// Until is when the last of the delays that the run is in is over, in unix milliseconds; 0 for none.
func (r *Run) Until() (at int64) {
	for i := range r.Steps {
		if s := &r.Steps[i]; s.State == StepWaiting {
			at = max(at, s.NextAttemptAt)
		}
	}
	return at
}

// JobID is the id of the job of a step's attempt. A step's id has no dash, so that no two attempts of
// whatever runs share one.
func JobID(runID, stepID string, attempt int) string {
	return runID + "-" + stepID + "-" + strconv.Itoa(attempt)
}

// RunOf is the run that a job of that id would be of, or "".
func RunOf(jobID string) string {
	rest, attempt, ok := cutLast(jobID)
	if n, err := strconv.Atoi(attempt); !ok || err != nil || n < 1 {
		return ""
	}
	runID, _, _ := cutLast(rest)
	return runID
}

// StepOf is the step of a run that a job is an attempt at, or "". The job's id alone does not say so: anybody may give such an
// id to a job.
func StepOf(req *job.Request) string {
	step, keyed := strings.CutPrefix(req.IdempotencyKey, req.WorkflowID+":")
	attempt, named := strings.CutPrefix(req.JobID, req.WorkflowID+"-"+step+"-")
	if n, err := strconv.Atoi(attempt); !keyed || !named || step == "" || err != nil || n < 1 {
		return ""
	}
	return step
}

func cutLast(s string) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, '-')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}

// FieldError is what is wrong with one part of a run.
type FieldError struct {
	Path string // such as steps[2].retry.max
	Err  error
}

// Error does not repeat the path, which the message has in words.
func (e *FieldError) Error() string { return e.Err.Error() }
func (e *FieldError) Unwrap() error { return e.Err }

// Validate says everything that keeps a run from being started, each as a *FieldError, or nil.
func (r *Run) Validate() error {
	var errs []error
	wrong := func(path string, err error) {
		if err != nil {
			errs = append(errs, &FieldError{path, err})
		}
	}
	wrong("run_id", checkID("run_id", r.RunID))
	wrong("workflow_id", checkID("workflow_id", r.WorkflowID))
	if len(r.Steps) == 0 || len(r.Steps) > stepsMax {
		wrong("steps", fmt.Errorf("steps are %d; a run has 1 to %d", len(r.Steps), stepsMax))
	}
	seen := map[string]bool{}
	for i := range r.Steps {
		s := &r.Steps[i]
		if field, err := s.validate(r.RunID, seen); err != nil {
			wrong(fmt.Sprintf("steps[%d].%s", i, field), fmt.Errorf("step %q: %w", s.ID, err))
		}
		seen[s.ID] = true
	}
	return errors.Join(errs...)
}

// CheckRunID says why there can be no run of that id, or nil.
func CheckRunID(id string) error { return checkID("run_id", id) }

// checkID keeps ids apart from what stands around them: in a job's id, in a timer's member, in a key.
func checkID(field, id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%s is empty", field)
	case !job.IsToken(id) || strings.Contains(id, ":"):
		return fmt.Errorf("%s %q holds a space, a control character, '.', '*', '>' or ':'; it must be one token of a NATS subject, without a colon", field, id)
	}
	return nil
}

// validate checks a step, and says which field is wrong; before are those that stand before it, which alone it can
// depend on: that leaves no room for a circle.
func (s *Step) validate(runID string, before map[string]bool) (field string, err error) {
	switch {
	case s.ID == "" || strings.Contains(s.ID, "-"):
		return "id", errors.New("its id must not be empty, nor hold a dash, which stands between the parts of its jobs' ids")
	case before[s.ID]:
		return "id", errors.New("another step has the same id; give each its own")
	case s.DelaySec < 0 || s.DelaySec > int64(delayMax/time.Second):
		return "delay_sec", fmt.Errorf("delay_sec is %d; it must be from 0 to %d", s.DelaySec, int64(delayMax/time.Second))
	case s.Retry.Max < 0 || s.Retry.Max > retryMax:
		return "retry.max", fmt.Errorf("retry.max is %d; it must be from 0 to %d", s.Retry.Max, retryMax)
	case s.Retry.BackoffMS < 0 || s.Retry.BackoffMS > delayMax.Milliseconds():
		return "retry.backoff_ms", fmt.Errorf("retry.backoff_ms is %d; it must be from 0 to %d", s.Retry.BackoffMS, delayMax.Milliseconds())
	}
	for i, id := range s.DependsOn {
		if !before[id] {
			return fmt.Sprintf("depends_on[%d]", i), fmt.Errorf("it depends on %q, which is no step before it; name one that stands above it", id)
		}
	}
	req := s.request(&Run{RunID: runID}, 0, s.Retry.Max+1)
	if err := req.Validate(); err != nil {
		field, _, _ = strings.Cut(err.Error(), " ") // its first word
		return strings.TrimSuffix(field, ":"), err
	}
	return "", nil
}

// Requests are the jobs of the run's steps, each at its last attempt.
func (r *Run) Requests() []job.Request {
	list := make([]job.Request, len(r.Steps))
	for i := range r.Steps {
		list[i] = r.Steps[i].request(r, i, r.Steps[i].Retry.Max+1)
	}
	return list
}

// request is the job of a step's attempt, as a client would submit it. All attempts have the step's idempotency key (Dead
// letters, entry: run_2f91:step_3), so that an attempt whose predecessor had its effect after all does not have it again.
func (s *Step) request(r *Run, index, attempt int) job.Request {
	id := JobID(r.RunID, s.ID, attempt)
	return job.Request{
		JobID: id, Topic: s.Topic, Tenant: r.Tenant, Labels: s.Labels, IdempotencyKey: r.RunID + ":" + s.ID, Payload: s.Payload,
		WorkflowID: r.RunID, StepIndex: index, Capability: s.Capability, Compensation: s.Compensation,
	}
}

// step finds a step by its id, or returns nil.
func (r *Run) step(id string) *Step {
	if i := slices.IndexFunc(r.Steps, func(s Step) bool { return s.ID == id }); i >= 0 {
		return &r.Steps[i]
	}
	return nil
}
