package scenarios

import (
	"slices"
	"strings"
	"time"

	"github.com/faultline-sim/faultline/faults"
)

// Shrink returns a smaller plan for which fails still says true, as it must of plan: with fewer
// faults, settings, jobs and nodes, and with plainer values in what is left. It makes large cuts
// first, so that later tries are cheap to run, and asks fails about no plan twice. The plan given is
// not changed, and the same plan and answers give the same result.
func Shrink(plan *Plan, fails func(*Plan) bool) *Plan {
	s := &shrinker{best: plan.clone(), fails: fails, tried: map[string]bool{}}
	s.best.pinned, s.best.About = nil, nil // neither changes what happens
	if text, err := Marshal(s.best); err == nil {
		s.tried[string(text)] = true
	}
	for again := true; again; {
		again = false
		for _, cut := range []func() bool{s.faults, s.settings, s.jobs, s.nodes, s.schedule, s.details} {
			again = cut() || again
		}
	}
	return s.best
}

type shrinker struct {
	best  *Plan
	fails func(*Plan) bool
	tried map[string]bool // plans, as Marshal writes them
}

// try applies change to a copy of the best plan, and keeps it if that is a valid plan, not tried yet,
// that still fails.
func (s *shrinker) try(change func(*Plan)) bool {
	p := s.best.clone()
	change(p)
	text, err := Marshal(p)
	if err != nil || s.tried[string(text)] || checkStrikes(p) != nil {
		return false
	}
	s.tried[string(text)] = true
	if !s.fails(p) {
		return false
	}
	s.best = p
	return true
}

// seedsTried is under how many seeds besides its own a plan with fewer jobs or nodes is tried: what it
// needs may be an order of steps that its own seed no longer gives.
const seedsTried = 3

// trySeeds is try, under other seeds too.
func (s *shrinker) trySeeds(change func(*Plan)) bool {
	if s.try(change) {
		return true
	}
	for seed := range uint64(seedsTried) {
		if s.try(func(p *Plan) { change(p); p.Seed = seed + 1 }) {
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
		return s.try(func(p *Plan) { p.Faults = slices.Delete(p.Faults, from, to) })
	})
}

// settings takes settings back to their defaults. Those that say how large the world is, and the order
// of steps, have their own cuts.
func (s *shrinker) settings() bool {
	list := slices.DeleteFunc(s.best.Changes(), func(change string) bool {
		return slices.Contains(ownCuts, nameOf(change))
	})
	return thin(len(list), func(from, to int) bool {
		if !s.try(func(p *Plan) { p.reset(list[from:to]) }) {
			return false
		}
		list = slices.Delete(list, from, to)
		return true
	})
}

var ownCuts = []string{"preset", "topology.schedulers", "topology.workers", "workload.jobs", "schedule.strategy"}

func nameOf(assignment string) string {
	name, _, _ := strings.Cut(assignment, "=")
	return name
}

// reset takes the settings that the assignments name back to their defaults.
func (p *Plan) reset(assignments []string) {
	base := p.base().settings()
	for _, a := range assignments {
		name := nameOf(a)
		for n := range p.Workload.Slow {
			if slowPrefix+nth(n) == name {
				delete(p.Workload.Slow, n)
			}
		}
		for i, s := range p.settings() {
			if s.name == name {
				s.value.Set(base[i].value)
			}
		}
	}
}

// jobs looks for a plan about one job alone, and failing that for one of fewer jobs.
func (s *shrinker) jobs() bool {
	if s.best.Workload.Jobs == 1 {
		return false
	}
	var named []int
	for _, m := range s.best.matches() {
		if m.Job > 0 && !slices.Contains(named, m.Job) {
			named = append(named, m.Job)
		}
	}
	for n := range s.best.Workload.Slow {
		if !slices.Contains(named, n) {
			named = append(named, n)
		}
	}
	slices.Sort(named)
	for _, n := range named {
		if s.trySeeds(func(p *Plan) { p.keepJob(n) }) {
			return true
		}
	}
	for occurrence := range 4 {
		if s.trySeeds(func(p *Plan) { p.mergeJobs(occurrence) }) {
			return true
		}
	}
	last := 1
	if len(named) > 0 {
		last = named[len(named)-1]
	}
	changed := s.try(func(p *Plan) { p.Workload.Jobs = last })
	for s.best.Workload.Jobs > 1 && s.try(func(p *Plan) { p.dropJob(p.Workload.Jobs) }) {
		changed = true
	}
	return changed
}

func (s *shrinker) nodes() (changed bool) {
	changed = s.best.Topology.Schedulers > 1 && s.trySeeds(func(p *Plan) { p.fewer("scheduler", &p.Topology.Schedulers, 1) })
	changed = s.best.Topology.Workers > 1 && s.trySeeds(func(p *Plan) { p.fewer("worker", &p.Topology.Workers, 1) }) || changed
	for s.best.Topology.Schedulers > 2 && s.try(func(p *Plan) { p.fewer("scheduler", &p.Topology.Schedulers, p.Topology.Schedulers-1) }) {
		changed = true
	}
	for s.best.Topology.Workers > 2 && s.try(func(p *Plan) { p.fewer("worker", &p.Topology.Workers, p.Topology.Workers-1) }) {
		changed = true
	}
	return changed
}

func (s *shrinker) schedule() bool {
	changed := s.best.Schedule.Strategy != Defaults().Schedule.Strategy &&
		s.trySeeds(func(p *Plan) { p.Schedule.Strategy = Defaults().Schedule.Strategy })
	return s.best.Seed != 1 && s.try(func(p *Plan) { p.Seed = 1 }) || changed
}

// details makes plainer what is left.
func (s *shrinker) details() (changed bool) {
	for i := range s.best.Faults {
		for _, simpler := range plainer {
			for s.try(func(p *Plan) { simpler(&p.Faults[i], p) }) {
				changed = true
			}
		}
	}
	for s.best.Workload.Submissions > 2 && s.try(func(p *Plan) { p.Workload.Submissions-- }) {
		changed = true
	}
	return changed
}

// keepJob makes the plan about that job alone, at the time at which it was the n-th.
func (p *Plan) keepJob(n int) {
	before := time.Duration(n-1) * p.Workload.Every
	p.Faults = slices.DeleteFunc(p.Faults, func(f faults.Fault) bool {
		m := matchOf(&f)
		return m != nil && m.Job != 0 && m.Job != n
	})
	for i := range p.Faults {
		if f := &p.Faults[i]; f.At > before {
			f.At -= before
		}
	}
	p.oneJob(p.Workload.Slow[n])
}

// mergeJobs makes all that the plan says of jobs about one, and its faults about the given occurrence
// if that is not 0: with other jobs gone, operations may come in another order.
func (p *Plan) mergeJobs(occurrence int) {
	longest := time.Duration(0)
	for _, d := range p.Workload.Slow {
		longest = max(longest, d)
	}
	for _, m := range p.matches() {
		if occurrence > 0 {
			m.Occurrence = occurrence
		}
	}
	p.oneJob(longest)
}

func (p *Plan) oneJob(slow time.Duration) {
	for _, m := range p.matches() {
		m.Job = min(m.Job, 1)
	}
	p.Workload.Slow = nil
	if slow > 0 {
		p.Workload.Slow = map[int]time.Duration{1: slow}
	}
	p.Workload.Jobs, p.About = 1, nil
}

// dropJob takes the last job away, and the faults that are about it.
func (p *Plan) dropJob(n int) {
	p.Faults = slices.DeleteFunc(p.Faults, func(f faults.Fault) bool {
		m := matchOf(&f)
		return m != nil && m.Job == n
	})
	delete(p.Workload.Slow, n)
	p.About = slices.DeleteFunc(p.About, func(a int) bool { return a == n })
	p.Workload.Jobs = n - 1
}

// fewer leaves n nodes of a role. What faults say of the others they say of the last that is left.
func (p *Plan) fewer(role string, count *int, n int) {
	left := nodeNames(role, n)
	for i := range p.Faults {
		f := &p.Faults[i]
		for _, name := range []*string{&f.Node, matchNode(f)} {
			if strings.HasPrefix(*name, role+"-") && !slices.Contains(left, *name) {
				*name = left[n-1]
			}
		}
	}
	*count = n
}

func matchOf(f *faults.Fault) *faults.Match {
	if f.On != nil {
		return f.On
	}
	return f.After
}

// matchNode is where the fault's match names a node.
func matchNode(f *faults.Fault) *string {
	if m := matchOf(f); m != nil {
		return &m.Node
	}
	return new(string)
}

func (p *Plan) matches() (all []*faults.Match) {
	for i := range p.Faults {
		if m := matchOf(&p.Faults[i]); m != nil {
			all = append(all, m)
		}
	}
	return all
}

// clone copies the plan, with nothing shared that shrinking changes.
func (p *Plan) clone() *Plan {
	c := *p
	c.Faults = slices.Clone(p.Faults)
	for i, f := range c.Faults {
		if f.On != nil {
			m := *f.On
			c.Faults[i].On = &m
		}
		if f.After != nil {
			m := *f.After
			c.Faults[i].After = &m
		}
	}
	c.About = slices.Clone(p.About)
	if p.Workload.Slow != nil {
		c.Workload.Slow = make(map[int]time.Duration, len(p.Workload.Slow))
		for n, d := range p.Workload.Slow {
			c.Workload.Slow[n] = d
		}
	}
	return &c
}
