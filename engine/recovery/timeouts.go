package recovery

import (
	"fmt"
	"time"

	"github.com/faultline-sim/faultline/engine/job"
	"github.com/faultline-sim/faultline/engine/store"
)

// Timeouts say how long a job may stay where it is.
type Timeouts struct {
	Dispatch time.Duration            // in DISPATCHED
	Topics   map[string]time.Duration // in DISPATCHED, for these topics (seed 000, next step 3)
	Running  time.Duration            // in RUNNING
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
		if d, ok := t.Topics[r.Topic]; ok {
			return d, true
		}
		return t.Dispatch, true
	case job.Running:
		return t.Running, true
	}
	return 0, false
}

// Overdue says in words why the job is to time out now, or returns "" if it is not.
func (t *Timeouts) Overdue(r *store.Record, now time.Time) string {
	if r.State.Terminal() {
		return ""
	}
	if limit, ok := t.of(r); ok {
		if age := now.Sub(r.UpdatedAt); age >= limit {
			return fmt.Sprintf("%s for %v, at most %v", r.State, age.Round(time.Millisecond), limit)
		}
	}
	if late := now.Sub(r.DeadlineAt); !r.DeadlineAt.IsZero() && late >= 0 {
		return fmt.Sprintf("%s %v past its deadline", r.State, late.Round(time.Millisecond))
	}
	return ""
}
