package model

import "cmp"

// Effect is the first effect of an idempotency key of a tenant.
type Effect struct {
	Job    *Job
	Step   int
	By     string // the worker
	had    int    // how often it was had
	undone int    // how often compensations of jobs with its key have undone it
}

// HadEffect notes an effect at the workers' sink.
func (f *Facts) HadEffect(s *Step) {
	if f.Effects == nil {
		f.Effects, f.UsedBy = map[string]Effect{}, map[string]string{}
	}
	j := s.About
	key := f.effectKey(s)
	first := f.Effects[key]
	if first.had == 0 {
		first.Job, first.Step, first.By = j, s.Step, s.Node
	}
	first.had++
	f.Effects[key] = first
	if key := f.undoes(j); key != "" {
		e := f.Effects[key]
		e.undone++
		f.Effects[key] = e
	}
	tenant := cmp.Or(f.UsedBy[j.Replay.Key], j.TenantOf())
	if f.UsedBy[j.Replay.Key] = tenant; tenant != j.TenantOf() && j.Replay.Key != "" {
		f.Reach(KeyOfTwoTenants)
	}
}

// effectKey is the key of the job's effect: the original's key if the job is a replay, whatever its worker
// was told. Without a record it is what the worker was told.
func (f *Facts) effectKey(s *Step) string {
	j := f.Root(s.About)
	if j.Replay.Key == "" {
		return s.Target
	}
	return j.Commitment()
}

// Repeated returns the key whose effect a step has had, and its first effect; again is false if the step's
// own is the first.
func (f *Facts) Repeated(s *Step) (key string, first Effect, again bool) {
	key = f.effectKey(s)
	first = f.Effects[key]
	return key, first, first.had > 1
}

// undoes is the key whose effect the job undoes, by its labels; "" if there is none.
func (f *Facts) undoes(j *Job) string {
	if j = f.Jobs[j.compensates()]; j == nil || f.Root(j).Replay.Key == "" {
		return ""
	}
	return f.Root(j).Commitment()
}

// Undone returns the key whose effect a step has undone, how often that was undone by then, and how often it
// was had. key is "" if the step undoes nothing.
func (f *Facts) Undone(s *Step) (key string, undone, had int) {
	key = f.undoes(s.About)
	e := f.Effects[key]
	return key, e.undone, e.had
}

// HadBefore returns the step at which the effect of a replay's key was had. had says whether that was before
// the ledger was last asked because of the dead letter that the replay comes from.
func (f *Facts) HadBefore(j *Job) (step int, had bool) {
	first, had := f.Effects[j.Commitment()]
	asked := f.Job(j.Replay.Of).Replay.Asked
	if j.Replay.Count > 1 {
		asked = 0
		for _, before := range f.Order {
			if before.Replay.Of == j.Replay.Of && before.Replay.Count == j.Replay.Count-1 {
				asked = max(asked, before.Replay.Asked)
			}
		}
	}
	return first.Step, had && first.Step > 0 && (asked == 0 || first.Step < asked)
}

// Deduplicated says whether a worker answers for a job without executing it, because the effect of its key
// was had.
func (f *Facts) Deduplicated(j *Job) bool {
	return f.Config.Deduplicate && f.Effects[j.Commitment()].had > 0
}
