package search

import (
	"slices"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Shrink returns a smaller plan for which fails still says true, as it must of plan: with fewer
// faults, settings, jobs and nodes, and with plainer values in what is left. The settings that keep
// names stay as they are. It makes large cuts first, so that later tries are cheap to run, and asks
// fails about no plan twice. The plan given is not changed, and the same plan and answers give the same
// result.
func Shrink(plan *plans.Plan, keep []string, fails func(*plans.Plan) bool) *plans.Plan {
	s := &shrinker{best: plan.Clone(), keep: keep, fails: fails, tried: map[string]bool{}}
	s.best.Unpin() // neither this nor about changes what happens
	s.best.About = nil
	if text, err := plans.Marshal(s.best); err == nil {
		s.tried[string(text)] = true
	}
	for again := true; again; {
		again = false
		for _, cut := range []func() bool{s.faults, s.kernel, s.settings, s.jobs, s.moments, s.nodes, s.schedule, s.details} {
			again = cut() || again
		}
		again = again || s.reseed()
	}
	return s.best
}

type shrinker struct {
	best  *plans.Plan
	keep  []string // settings
	fails func(*plans.Plan) bool
	tried map[string]bool // plans, as Marshal writes them
}

// try applies change to a copy of the best plan, and keeps it if that is a valid plan, not tried yet,
// that still fails.
func (s *shrinker) try(change func(*plans.Plan)) bool {
	p := s.best.Clone()
	change(p)
	text, err := plans.Marshal(p)
	if err != nil || s.tried[string(text)] || plans.CheckStrikes(p) != nil || !s.keeps(p) {
		return false
	}
	s.tried[string(text)] = true
	if !s.fails(p) {
		return false
	}
	s.best = p
	return true
}

// keeps says whether p has the settings that are to stay.
func (s *shrinker) keeps(p *plans.Plan) bool {
	now := p.Settings()
	for i, was := range s.best.Settings() {
		if slices.Contains(s.keep, was.Name) && now[i].Text() != was.Text() {
			return false
		}
	}
	return true
}

// seedsTried is under how many seeds besides its own a plan with fewer jobs or nodes is tried: what it
// needs may be an order of steps that its own seed no longer gives.
const seedsTried = 3

// trySeeds is try, under other seeds too.
func (s *shrinker) trySeeds(change func(*plans.Plan)) bool {
	if s.try(change) {
		return true
	}
	for seed := range uint64(seedsTried) {
		if s.try(func(p *plans.Plan) { change(p); p.Seed = seed + 1 }) {
			return true
		}
	}
	return false
}

// thin drops as much as it can of a list of n: all of it, halves, and so on down to single entries.
func thin(n int, drop func(from, to int) bool) (changed bool) {
	for size := n; size > 0; size /= 2 {
		for to := n; to > 0; to -= size {
			if from := max(0, to-size); drop(from, to) {
				n -= to - from
				changed = true
			}
		}
	}
	return changed
}

func (s *shrinker) faults() bool {
	return thin(len(s.best.Faults), func(from, to int) bool {
		return s.try(func(p *plans.Plan) { p.Faults = slices.Delete(p.Faults, from, to) })
	})
}

// settings takes settings back to their defaults.
func (s *shrinker) settings() bool {
	list := s.best.Resettable()
	return thin(len(list), func(from, to int) bool {
		if !s.try(func(p *plans.Plan) { p.Reset(list[from:to]) }) {
			return false
		}
		list = slices.Delete(list, from, to)
		return true
	})
}

// jobs looks for a plan about one job alone, and failing that for one of fewer jobs.
func (s *shrinker) jobs() bool {
	if s.best.Workload.Jobs == 1 {
		return false
	}
	named := s.best.JobsNamed()
	for _, n := range named {
		if s.trySeeds(func(p *plans.Plan) { p.KeepJob(n) }) {
			return true
		}
	}
	for occurrence := range 4 {
		if s.trySeeds(func(p *plans.Plan) { p.MergeJobs(occurrence) }) {
			return true
		}
	}
	last := 1
	if len(named) > 0 {
		last = named[len(named)-1]
	}
	changed := s.try(func(p *plans.Plan) { p.Workload.Jobs = last })
	for s.best.Workload.Jobs > 1 && s.try(func(p *plans.Plan) { p.DropJob(p.Workload.Jobs) }) {
		changed = true
	}
	return changed
}

// moments looks for the operation of one job at which a crash or a pause matters: at a time, or after what
// somebody else does, it hits that by chance, and may take other jobs for it.
func (s *shrinker) moments() (changed bool) {
	for i := range s.best.Faults {
		f := s.best.Faults[i]
		there := f.Do == faults.Crash && f.After != nil && f.Node == faults.Actor && s.best.Workload.Jobs == 1
		if f.Do != faults.Crash && f.Do != faults.Pause || there {
			continue
		}
		for _, phase := range s.best.Topology.Pivots(&f) {
			if s.try(func(p *plans.Plan) { p.StrikeAt(i, phase) }) {
				changed = true
				break
			}
			if s.try(func(p *plans.Plan) { p.StrikeAt(i, phase); p.Faults = p.Faults[i : i+1] }) {
				return true
			}
		}
	}
	return changed
}

func (s *shrinker) nodes() (changed bool) {
	changed = s.best.Topology.Schedulers > 1 && s.trySeeds(func(p *plans.Plan) { p.Fewer("scheduler", &p.Topology.Schedulers, 1) })
	changed = s.best.Topology.Workers > 1 && s.trySeeds(func(p *plans.Plan) { p.Fewer("worker", &p.Topology.Workers, 1) }) || changed
	changed = s.best.Topology.Schedulers > 1 && s.oneScheduler() || changed
	for s.best.Topology.Schedulers > 2 && s.try(func(p *plans.Plan) { p.Fewer("scheduler", &p.Topology.Schedulers, p.Topology.Schedulers-1) }) {
		changed = true
	}
	for s.best.Topology.Workers > 2 && s.try(func(p *plans.Plan) { p.Fewer("worker", &p.Topology.Workers, p.Topology.Workers-1) }) {
		changed = true
	}
	return changed
}

// oneScheduler is for faults that name a replica: what was the first operation of one is a later one of all.
func (s *shrinker) oneScheduler() bool {
	for occurrence := 2; occurrence <= 3; occurrence++ {
		if s.try(func(p *plans.Plan) {
			for _, m := range p.Matches() {
				if m.Node != "" && m.Occurrence <= 1 {
					m.Node, m.Occurrence = "", occurrence
				}
			}
			p.Fewer("scheduler", &p.Topology.Schedulers, 1)
		}) {
			return true
		}
	}
	return false
}

func (s *shrinker) schedule() bool {
	changed := s.best.Schedule.Strategy != plans.Defaults().Schedule.Strategy &&
		s.trySeeds(func(p *plans.Plan) { p.Schedule.Strategy = plans.Defaults().Schedule.Strategy })
	return s.best.Seed != 1 && s.try(func(p *plans.Plan) { p.Seed = 1 }) || changed
}

// details makes plainer what is left.
func (s *shrinker) details() (changed bool) {
	for i := range s.best.Faults {
		for _, simpler := range plainer {
			for s.try(func(p *plans.Plan) { simpler(&p.Faults[i], p) }) {
				changed = true
			}
		}
	}
	for s.best.Workload.Submissions > 2 && s.try(func(p *plans.Plan) { p.Workload.Submissions-- }) {
		changed = true
	}
	return changed
}

// reseed is for a plan from which no cut alone can be made any more: it hangs on an order of steps,
// which each cut changes. It makes one cut under another seed, those first that take most away.
func (s *shrinker) reseed() bool {
	for _, cut := range s.best.Cuts() {
		for seed := range uint64(reseedsMax) {
			if s.try(func(p *plans.Plan) { cut(p); p.Seed = seed + 1 }) {
				return true
			}
		}
	}
	return false
}

const reseedsMax = 10

// kernel cuts the policy down, or takes the kernel away.
func (s *shrinker) kernel() (changed bool) {
	if !s.best.Kernel.On() {
		return false
	}
	if s.try(func(p *plans.Plan) { p.Kernel = plans.Kernel{Default: plans.NoKernel} }) {
		return true
	}
	changed = thin(len(s.best.Kernel.Then), func(from, to int) bool {
		return s.try(func(p *plans.Plan) { p.Kernel.Then = slices.Delete(p.Kernel.Then, from, to) })
	})
	changed = thin(len(s.best.Kernel.Output), func(from, to int) bool {
		return s.try(func(p *plans.Plan) { p.Kernel.Output = slices.Delete(p.Kernel.Output, from, to) })
	}) || changed
	return thin(len(s.best.Kernel.Rules), func(from, to int) bool {
		return s.try(func(p *plans.Plan) { p.Kernel.Rules = slices.Delete(p.Kernel.Rules, from, to) })
	}) || changed
}
