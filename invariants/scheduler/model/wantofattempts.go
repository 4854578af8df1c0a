package model

import (
	"slices"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// GivenUpBy says whether the write ends the job only because it has been tried too often: no scheduler
// received a failure of it, a pool serves it, and its tenant had a slot as far as the writer knew.
func (f *Facts) GivenUpBy(s *Step, w *Write) bool {
	j := s.About
	return j.State == Failed && w.From != Failed && !j.FailureReported() && j.Wish.pooled(&f.Config.Routing) && (s.Handling == nil || !s.Handling.Full)
}

// FailureReported says whether a scheduler has received a result of the job that is no success.
func (j *Job) FailureReported() bool {
	return slices.ContainsFunc(j.Messages, func(m Message) bool {
		return m.Consumer == history.ConsumerResult && m.Delivered > 0 && !m.Succeeded() && !m.Garbled
	})
}

// Free is the first worker, by name, that the step's replica knows to be alive and free; "" if there is none.
// It is also "" if there are several pools, or if a worker past its TTL may still be listed, since the
// replica may pick that one (Stale workers).
func (f *Facts) Free(s *Step) (worker string) {
	if s.About.Wish.Particular() {
		return ""
	}
	pool := ""
	for _, known := range f.ears(s.Event) {
		age := known.Age(s.At, &f.Config)
		switch {
		case age > f.Config.WorkerTTL-Doubt && age <= f.Config.WorkerTTL+f.Config.RegistrySweep+Doubt:
			return ""
		case !f.free(s, known):
		case worker == "":
			worker, pool = known.Worker, known.Load.Pool
		case pool != known.Load.Pool:
			return ""
		}
	}
	return worker
}
