package model

import "github.com/wavetank-sim/wavetank/invariants/scheduler/history"

// EndsForWantOfAttempts says whether the step ends the job for want of attempts.
func (j *Job) EndsForWantOfAttempts(s *Step) bool {
	for i := range s.Changes {
		if c := &s.Changes[i]; c.Key == history.RecordPrefix+j.ID && c.Field == "reason_code" {
			return c.Value == "max_scheduling_retries"
		}
	}
	return false
}

// Free is a worker that the step's replica could pick for its job, for sure: the first by its name; "" for none, or
// where there are several pools.
func (f *Facts) Free(s *Step) (worker string) {
	if s.About.Wish.Particular() {
		return ""
	}
	pool := ""
	for at, known := range f.Heard {
		l := &known.Load
		if at.Scheduler != s.Node || at.Incarnation != s.Incarnation || !l.Known || l.Choosy || l.Overloaded() || known.Age(s.At, &f.Config) > f.Config.WorkerTTL-Doubt {
			continue
		}
		if pool != "" && pool != l.Pool {
			return ""
		}
		pool = l.Pool
		if worker == "" || at.Worker < worker {
			worker = at.Worker
		}
	}
	return worker
}
