package scenarios

import (
	"slices"
	"time"

	"github.com/faultline-sim/faultline/faults"
)

// Shrink returns a smaller plan for which fails still says true, as it must of plan: with fewer
// faults, jobs and nodes, and with plainer values in what is left. It tries the steps in an order
// that makes plans cheaper to run first, until none of them succeeds; the plan given is not changed.
func Shrink(plan *Plan, fails func(*Plan) bool) *Plan {
	best := plan.clone()
	for again := true; again; {
		again = false
		for i := len(best.Faults) - 1; i >= 0; i-- {
			again = best.try(fails, func(p *Plan) { p.Faults = slices.Delete(p.Faults, i, i+1) }) || again
		}
		for _, simpler := range simplifications {
			again = best.try(fails, simpler) || again
		}
		for i := range best.Faults {
			for _, simpler := range plainer {
				again = best.try(fails, func(p *Plan) { simpler(&p.Faults[i]) }) || again
			}
		}
	}
	return best
}

// simplifications of a plan. Each changes a plan that can still be made simpler in its way, and no
// other, so that shrinking ends.
var simplifications = []func(*Plan){
	func(p *Plan) { p.Workload.Jobs = p.highestJob() },
	func(p *Plan) { p.collapseJobs(0) },
	func(p *Plan) { p.collapseJobs(1) },
	func(p *Plan) { p.collapseJobs(2) },
	func(p *Plan) { p.collapseJobs(3) },
	func(p *Plan) { p.Topology.Schedulers = 1 },
	func(p *Plan) { p.Topology.Schedulers = max(1, p.Topology.Schedulers-1) },
	func(p *Plan) { p.Topology.Workers = 1 },
	func(p *Plan) { p.Topology.Workers = max(1, p.Topology.Workers-1) },
	func(p *Plan) { p.Workload.Submissions = 1 },
	func(p *Plan) { p.Workload.Slow = nil },
	func(p *Plan) { p.Workload.Every = Defaults().Workload.Every },
	func(p *Plan) { p.Workload.Work = Defaults().Workload.Work },
	func(p *Plan) { p.Schedule.Strategy = Defaults().Schedule.Strategy },
	func(p *Plan) { p.Seed = 1 },
}

// plainer makes one fault simpler, in the same way.
var plainer = []func(*faults.Fault){
	func(f *faults.Fault) {
		if f.Times > 1 {
			f.Times = 0
		}
	},
	func(f *faults.Fault) {
		if f.Times > 1 {
			f.Times--
		}
	},
	func(f *faults.Fault) {
		if f.On != nil && f.On.Occurrence > 1 {
			f.On.Occurrence--
		}
	},
	func(f *faults.Fault) {
		if f.After != nil && f.After.Occurrence > 1 {
			f.After.Occurrence--
		}
	},
	func(f *faults.Fault) {
		if f.At > time.Second {
			f.At = max(time.Second, f.At/2).Truncate(time.Second)
		}
	},
}

// seedsTried is under how many other seeds a smaller plan is tried: what it needs may be an order of
// steps that its own seed no longer gives.
const seedsTried = 4

// try applies change to a copy, and keeps it if that is another plan, valid, and still fails.
func (p *Plan) try(fails func(*Plan) bool, change func(*Plan)) bool {
	smaller := p.clone()
	change(smaller)
	before, err := Marshal(p)
	if err != nil {
		return false
	}
	after, err := Marshal(smaller)
	if err != nil || string(before) == string(after) || smaller.Validate() != nil || checkStrikes(smaller) != nil {
		return false
	}
	for seed := range uint64(1 + seedsTried) {
		if seed > 0 {
			smaller.Seed = seed
		}
		if fails(smaller) {
			*p = *smaller
			return true
		}
		if smaller.Seed != p.Seed && seed == 0 {
			return false // the change is the seed
		}
	}
	return false
}

// highestJob is the last job that a fault, or the story, is about.
func (p *Plan) highestJob() int {
	highest := 1
	for _, m := range p.matches() {
		highest = max(highest, m.Job)
	}
	for n := range p.Workload.Slow {
		highest = max(highest, n)
	}
	return highest
}

// collapseJobs makes the plan about one job alone, and its faults about the given occurrence if that
// is not 0: with other jobs gone, operations may come in another order.
func (p *Plan) collapseJobs(occurrence int) {
	if p.Workload.Jobs == 1 {
		return
	}
	for _, m := range p.matches() {
		m.Job = min(m.Job, 1)
		if occurrence > 0 {
			m.Occurrence = occurrence
		}
	}
	if d, ok := p.Workload.Slow[p.highestJob()]; ok {
		p.Workload.Slow = map[int]time.Duration{1: d}
	}
	p.Workload.Jobs, p.About = 1, nil
}

func (p *Plan) matches() (all []*faults.Match) {
	for _, f := range p.Faults {
		for _, m := range []*faults.Match{f.On, f.After} {
			if m != nil {
				all = append(all, m)
			}
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
