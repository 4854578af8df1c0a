package model

// Effect is that an execution of a job did on the outside what its idempotency key stands for: the first time.
type Effect struct {
	Job  *Job
	Step int
	By   string // the worker
	had  int    // how often
}

// HadEffect notes an effect at the workers' sink, whose event names its key.
func (f *Facts) HadEffect(s *Step) {
	first, again := f.Effects[s.Target]
	if !again {
		first = Effect{Job: s.About, Step: s.Step, By: s.Node}
	}
	first.had++
	if f.Effects == nil {
		f.Effects = map[string]Effect{}
	}
	f.Effects[s.Target] = first
}

// Repeated is the first effect of the key whose effect a step has had; it says false if the step's own is the first.
func (f *Facts) Repeated(s *Step) (first Effect, again bool) {
	first = f.Effects[s.Target]
	return first, first.had > 1
}

// Deduplicated says whether a worker answers for a job without executing it: the effect of its key was had.
func (f *Facts) Deduplicated(j *Job) bool {
	return f.Config.Deduplicate && f.Effects[j.Replay.Key].had > 0
}
