package workflow

import (
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// begin makes a run of what its starter has given.
func (r *Run) begin(now time.Time) {
	r.State, r.Reason, r.Version = Running, "", 1
	r.CreatedAt, r.UpdatedAt = now.UnixMilli(), now.UnixMilli()
	for i := range r.Steps {
		s := &r.Steps[i]
		s.State, s.Attempt, s.NextAttemptAt, s.JobID, s.EndedAt, s.Reason = StepPending, 0, 0, "", 0, ""
	}
}

// jobs are those that the run waits for.
func (r *Run) jobs() (ids []string) {
	for i := range r.Steps {
		if r.Steps[i].State == StepSubmitted {
			ids = append(ids, r.Steps[i].JobID)
		}
	}
	return ids
}

// advance takes the run as far as it can go: it takes in the jobs that have ended, by their records, and decides on
// those that are due. It says whether anything has changed.
func (r *Run) advance(records map[string]*store.Record, now time.Time) (changed bool) {
	if r.Over() {
		return false
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		if rec := records[s.JobID]; s.State == StepSubmitted && rec != nil && rec.State.Terminal() {
			r.ended(s, rec)
			changed = true
		}
	}
	if r.Over() {
		return changed
	}
	succeeded := true
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.State == StepPending && r.ready(s) {
			s.State, s.Attempt, s.NextAttemptAt = StepWaiting, 1, r.due(s)
			changed = true
		}
		if s.State == StepWaiting && now.UnixMilli() >= s.NextAttemptAt {
			s.State, s.JobID = StepSubmitted, JobID(r.RunID, s.ID, s.Attempt)
			changed = true
		}
		succeeded = succeeded && s.State == StepSucceeded
	}
	if succeeded {
		r.State = Succeeded
	}
	return changed
}

// ended takes in the end of the step's job.
func (r *Run) ended(s *Step, rec *store.Record) {
	s.EndedAt = rec.UpdatedAt.UnixMilli()
	req, err := rec.Request()
	switch {
	case err == nil && req.WorkflowID != r.RunID:
		s.Reason = fmt.Sprintf("%s is a job of somebody else's", s.JobID)
	case rec.State == job.Succeeded:
		s.State, s.Reason = StepSucceeded, ""
		return
	case s.retries(rec):
		s.Reason = failure(rec)
		s.NextAttemptAt = rec.UpdatedAt.Add(s.Retry.backoff(s.Attempt)).UnixMilli()
		s.State, s.JobID = StepWaiting, ""
		s.Attempt++
		return
	default:
		s.Reason = failure(rec)
	}
	s.State = StepFailed
	r.State, r.Reason = Failed, fmt.Sprintf("step %s: %s", s.ID, s.Reason)
}

// retries says whether the step is to be tried again: after a failure or a timeout that its worker did not call
// final. That it was cancelled, denied or quarantined is a decision, which stands.
func (s *Step) retries(rec *store.Record) bool {
	failed := rec.State == job.Failed || rec.State == job.Timeout
	return failed && !rec.Fatal && s.Attempt <= s.Retry.Max
}

func failure(rec *store.Record) string {
	words := fmt.Sprintf("%s is %s", rec.JobID, rec.State)
	if rec.ReasonCode != "" {
		words += " (" + rec.ReasonCode + ")"
	}
	return words
}

// ready says whether all that the step depends on has succeeded.
func (r *Run) ready(s *Step) bool {
	for _, id := range s.DependsOn {
		if d := r.step(id); d == nil || d.State != StepSucceeded {
			return false
		}
	}
	return true
}

// due is when the step's first job may be submitted, in unix milliseconds: its delay counts from the last success
// that it depends on, by that job's record, whenever that was noticed.
func (r *Run) due(s *Step) int64 {
	if s.DelaySec == 0 && s.DelayUntil == 0 {
		return 0
	}
	return max(r.since(s)+s.DelaySec*1000, s.DelayUntil)
}

// since is when the step's delay began, in unix milliseconds: with the failure of its last job, or with the last
// success that it depends on.
func (r *Run) since(s *Step) int64 {
	if s.Attempt > 1 {
		return s.EndedAt
	}
	since := r.CreatedAt
	for _, id := range s.DependsOn {
		since = max(since, r.step(id).EndedAt)
	}
	return since
}

// next is when the earliest is over of the delays that are as long as that, however little is left of them.
func (r *Run) next(length time.Duration) (at time.Time, ok bool) {
	for i := range r.Steps {
		s := &r.Steps[i]
		if r.Over() || s.State != StepWaiting || s.NextAttemptAt-r.since(s) < length.Milliseconds() {
			continue
		}
		if due := time.UnixMilli(s.NextAttemptAt); !ok || due.Before(at) {
			at, ok = due, true
		}
	}
	return at, ok
}
