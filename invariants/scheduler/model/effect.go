package model

import "cmp"

// Effect is that an execution of a job did on the outside what its tenant's idempotency key stands for: the first time.
type Effect struct {
	Job  *Job
	Step int
	By   string // the worker
	had  int    // how often
}

// HadEffect notes an effect at the workers' sink.
func (f *Facts) HadEffect(s *Step) {
	if f.Effects == nil {
		f.Effects, f.UsedBy = map[string]Effect{}, map[string]string{}
	}
	j := s.About
	first, again := f.Effects[f.effectKey(s)]
	if !again {
		first = Effect{Job: j, Step: s.Step, By: s.Node}
	}
	first.had++
	f.Effects[f.effectKey(s)] = first
	tenant := cmp.Or(f.UsedBy[j.Replay.Key], j.TenantOf())
	if f.UsedBy[j.Replay.Key] = tenant; tenant != j.TenantOf() && j.Replay.Key != "" {
		f.Reach(KeyOfTwoTenants)
	}
}

// effectKey is what an effect of the job is known by: the key of the original, if it is a replay, whatever its worker was
// told; without a record, what that was.
func (f *Facts) effectKey(s *Step) string {
	j := f.Root(s.About)
	if j.Replay.Key == "" {
		return s.Target
	}
	return j.Commitment()
}

// Repeated is the key whose effect a step has had, and the first effect of it; it says false if the step's own is the first.
func (f *Facts) Repeated(s *Step) (key string, first Effect, again bool) {
	key = f.effectKey(s)
	first = f.Effects[key]
	return key, first, first.had > 1
}

// HadBefore is the step at which the effect of a replay's key was had, if that was before the ledger was last asked because
// of the dead letter that the replay comes from.
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

// Deduplicated says whether a worker answers for a job without executing it: the effect of its key was had.
func (f *Facts) Deduplicated(j *Job) bool {
	return f.Config.Deduplicate && f.Effects[j.Commitment()].had > 0
}
