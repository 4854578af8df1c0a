package judge

import "time"

// due is when the job's time is up: its timeout's, or its deadline. It is false for a job that may stay as
// it is. It goes by when the events were, and not by the schedulers' stamps; only how long before its
// deadline a job was written is told by its record alone.
func (f *facts) due(j *job) (at time.Duration, bounded bool) {
	switch {
	case j.state == absent || j.state.terminal():
		return 0, false
	case j.state == dispatched:
		at, bounded = j.touched+f.config.TimeoutOf(j.topic), true
	case j.state == running:
		at, bounded = j.touched+f.config.RunningTimeout, true
	}
	if j.deadline != 0 && (!bounded || j.deadlineAt < at) {
		at, bounded = j.deadlineAt, true
	}
	return at, bounded
}
