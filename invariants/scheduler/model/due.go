package model

import "time"

// Due is when the job's time is up, by its timeout or its deadline; bounded is false for a job that may stay
// as it is. Due uses the times of events, not the schedulers' timestamps. Only the time from a write to its
// deadline is taken from the record.
func (f *Facts) Due(j *Job) (at time.Duration, bounded bool) {
	switch {
	case j.State == Absent || j.State.Terminal():
		return 0, false
	case j.State == Dispatched:
		at, bounded = j.Touched+f.Config.TimeoutOf(j.Topic), true
	case j.State == Running:
		at, bounded = j.Touched+f.Config.RunningTimeout, true
	}
	if j.Deadline != 0 && (!bounded || j.DeadlineDue() < at) {
		at, bounded = j.DeadlineDue(), true
	}
	return at, bounded
}

// DeadlineDue is when the job is past its deadline, for those who can know: not before its record was
// written.
func (j *Job) DeadlineDue() time.Duration { return max(j.DeadlineAt, j.Expected) }

// Age is how long a job stays in a state before the replayer handles it; ok is false if it never does.
func (f *Facts) Age(s State) (age time.Duration, ok bool) {
	c := &f.Config
	switch s {
	case Pending, ApprovalRequired:
		return c.PendingAge, c.PendingReplayer
	case Scheduled:
		return c.ScheduledAge, c.SweepScheduled
	case Dispatched:
		return c.IntentAge, c.ResumeIntents && c.DispatchOrder != "outbox"
	}
	return 0, false
}
