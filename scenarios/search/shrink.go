package search

import (
	"slices"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Shrink returns a smaller plan for which fails still returns true, as it must for plan. The smaller plan has
// fewer faults, settings, jobs and nodes, and simpler values. The settings that keep names stay. Shrink makes
// large cuts first, so that later tries are cheap to run, and calls fails at most once for a plan. It does
// not change plan. The same plan and answers give the same result.
func Shrink(plan *plans.Plan, keep []string, fails func(*plans.Plan) bool) *plans.Plan {
	s := &shrinker{best: plan.Clone(), keep: keep, fails: fails, tried: map[string]bool{}}
	s.best.Unpin() // neither pinned settings nor about change what happens
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
	keep  []string // settings that stay
	fails func(*plans.Plan) bool
	tried map[string]bool // plans, by their text as Marshal writes it
}

// try applies change to a copy of the best plan. It keeps the copy if that is valid, was not tried yet, and
// still fails.
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

// seedsTried is with how many further seeds a plan with fewer jobs or nodes is tried. The failure may need an
// order of steps that the plan's own seed no longer gives.
const seedsTried = 3

// trySeeds is try with other seeds as well.
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

// thin removes as much as it can of a list of n: all of it, halves, and so on down to single entries.
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

// settings resets settings to their defaults.
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

// jobs looks for a plan about a single job, or else for one with fewer jobs.
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

// moments looks for the operation of one job at which a crash or a pause matters. A fault at a time, or after
// another node's operation, hits that operation by chance, and may need other jobs for it.
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

// oneScheduler handles faults that name a replica: the first operation of one replica is a later one among
// all.
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

// details simplifies the rest.
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

// reseed handles a plan that no cut alone can make smaller: the failure depends on an order of steps, which
// each cut changes. It makes one cut with another seed, the largest cuts first.
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

// kernel makes the policy smaller, or removes the kernel.
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
