package recovery

import (
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// Timeouts say how long a job may stay where it is.
type Timeouts struct {
	Dispatch time.Duration            // in DISPATCHED
	Topics   map[string]time.Duration // in DISPATCHED, for these topics (Dispatch ordering, next step 3)
	Running  time.Duration            // in RUNNING

	// Silence is for how long a worker is known not to have been heard of. A job that is RUNNING on one
	// that is silent for the time that it could have been DISPATCHED has no more time than that: its worker
	// is dead. With no Silence it has its time.
	Silence func(workerID string) time.Duration
}

// Longest is how long some job may stay DISPATCHED.
func (t *Timeouts) Longest() time.Duration {
	most := t.Dispatch
	for _, d := range t.Topics {
		most = max(most, d)
	}
	return most
}

// running is how long any job may stay RUNNING.
func (t *Timeouts) running() time.Duration {
	if t.Silence == nil {
		return t.Running
	}
	return min(t.Running, t.shortest())
}

// shortest is how long any job may stay DISPATCHED.
func (t *Timeouts) shortest() time.Duration {
	least := t.Dispatch
	for _, d := range t.Topics {
		least = min(least, d)
	}
	return least
}

// of is how long the job may stay in its state, or false if that has no bound.
func (t *Timeouts) of(r *store.Record) (time.Duration, bool) {
	switch r.State {
	case job.Dispatched:
		return t.dispatch(r.Topic), true
	case job.Running:
		return t.Running, true
	}
	return 0, false
}

// dispatch is how long a job of the topic may stay DISPATCHED.
func (t *Timeouts) dispatch(topic string) time.Duration {
	if d, ok := t.Topics[topic]; ok {
		return d
	}
	return t.Dispatch
}

// silent is for how long the worker of a RUNNING job has been silent, and how long it may be.
func (t *Timeouts) silent(r *store.Record) (silent, limit time.Duration) {
	limit = t.dispatch(r.Topic)
	if t.Silence == nil || r.State != job.Running || r.Worker == "" {
		return 0, limit
	}
	return t.Silence(r.Worker), limit
}

// Overdue says in words why the job is to time out now, or returns "" if it is not.
func (t *Timeouts) Overdue(r *store.Record, now time.Time) string {
	if r.State.Terminal() {
		return ""
	}
	if PastDeadline(r, now) {
		return fmt.Sprintf("%s %v past its deadline", r.State, now.Sub(r.DeadlineAt).Round(time.Millisecond))
	}
	if limit, ok := t.of(r); ok {
		if age := now.Sub(r.UpdatedAt); age >= limit {
			return fmt.Sprintf("%s for %v, at most %v", r.State, age.Round(time.Millisecond), limit)
		}
	}
	if silent, limit := t.silent(r); min(silent, now.Sub(r.UpdatedAt)) >= limit {
		return fmt.Sprintf("%s on %s, which is silent for %v, at most %v", r.State, r.Worker, silent.Round(time.Millisecond), limit)
	}
	return ""
}

// PastDeadline says whether the job has a deadline of its own that has come.
func PastDeadline(r *store.Record, now time.Time) bool {
	return !r.DeadlineAt.IsZero() && !now.Before(r.DeadlineAt)
}
