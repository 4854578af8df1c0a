package plans

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/scenarios/scheduler/actors"
)

// Cuts lists the smallest steps that make the plan smaller.
func (p *Plan) Cuts() (list []func(*Plan)) {
	if p.Workload.Jobs > 1 {
		for _, n := range p.JobsNamed() {
			list = append(list, func(p *Plan) { p.KeepJob(n) })
		}
		list = append(list, func(p *Plan) { p.MergeJobs(0) }, func(p *Plan) { p.DropJob(p.Workload.Jobs) })
	}
	for _, setting := range p.Resettable() {
		list = append(list, func(p *Plan) { p.Reset([]string{setting}) })
	}
	for i := range p.Faults {
		list = append(list, func(p *Plan) { p.Faults = slices.Delete(p.Faults, i, i+1) })
	}
	if p.Topology.Schedulers > 1 {
		list = append(list, func(p *Plan) { p.Fewer("scheduler", &p.Topology.Schedulers, 1) })
	}
	if p.Topology.Workers > 1 {
		list = append(list, func(p *Plan) { p.Fewer("worker", &p.Topology.Workers, 1) })
	}
	return list
}

// Resettable lists the changed settings that can be reset to their defaults. The size of the world and the
// order of steps have cuts of their own.
func (p *Plan) Resettable() []string {
	return slices.DeleteFunc(p.Changes(), func(change string) bool { return slices.Contains(ownCuts, NameOf(change)) })
}

var ownCuts = []string{"preset", "topology.schedulers", "topology.workers", "workload.jobs", "schedule.strategy"}

// NameOf is the name of the setting in an assignment such as "workload.jobs = 2".
func NameOf(assignment string) string {
	name, _, _ := strings.Cut(assignment, "=")
	return strings.TrimSpace(name)
}

// Reset resets the settings in the assignments to their defaults.
func (p *Plan) Reset(assignments []string) {
	base := p.base().Settings()
	for _, a := range assignments {
		name := NameOf(a)
		if k, job, ok := PerJobOf(name); ok {
			n, _ := strconv.Atoi(job)
			k.forget(&p.Workload, n)
		}
		for i, s := range p.Settings() {
			if s.Name == name {
				s.Value.Set(base[i].Value)
			}
		}
	}
}

// Without returns a copy of the plan in which the setting has its default; false if it has that already, or
// the copy is not valid.
func (p *Plan) Without(setting string) (*Plan, bool) {
	c := p.Clone()
	c.Reset([]string{setting})
	return c, !slices.Equal(c.Changes(), p.Changes()) && c.Validate() == nil && CheckStrikes(c) == nil
}

// JobsNamed lists the jobs that the plan names.
func (p *Plan) JobsNamed() (named []int) {
	for _, m := range p.Matches() {
		if m.Job > 0 {
			named = append(named, m.Job)
		}
	}
	for _, k := range perJobs {
		named = append(named, k.jobs(&p.Workload)...)
	}
	named = append(named, p.Kernel.jobsNamed()...)
	slices.Sort(named)
	return slices.Compact(named)
}

// KeepJob reduces the plan to the n-th job, at the time of its submission.
func (p *Plan) KeepJob(n int) {
	before := time.Duration(n-1) * p.Workload.Every
	p.Faults = slices.DeleteFunc(p.Faults, func(f faults.Fault) bool {
		m := MatchOf(&f)
		return m != nil && m.Job != 0 && m.Job != n
	})
	for i := range p.Faults {
		if f := &p.Faults[i]; f.At > before {
			f.At -= before
		}
	}
	p.Kernel.renumber(func(m int) int {
		if m == n {
			return 1
		}
		return 0
	})
	p.oneJob(func(all reflect.Value) reflect.Value { return all.MapIndex(reflect.ValueOf(n)) })
}

// MergeJobs applies everything that the plan says about jobs to a single one. If occurrence is not 0, the
// faults strike that occurrence: without the other jobs, operations may come in another order.
func (p *Plan) MergeJobs(occurrence int) {
	for _, m := range p.Matches() {
		if occurrence > 0 {
			m.Occurrence = occurrence
		}
	}
	p.Kernel.renumber(func(int) int { return 1 })
	p.oneJob(func(all reflect.Value) (kept reflect.Value) {
		for _, n := range jobsOf(all) {
			v := all.MapIndex(reflect.ValueOf(n))
			if !kept.IsValid() || v.CanInt() && v.Int() > kept.Int() { // the longest duration, the first text
				kept = v
			}
		}
		return kept
	})
}

// oneJob reduces the plan to one job. For each key of single jobs, pick chooses the value to keep; an invalid
// value is none.
func (p *Plan) oneJob(pick func(all reflect.Value) reflect.Value) {
	for _, m := range p.Matches() {
		m.Job = min(m.Job, 1)
	}
	for _, k := range perJobs {
		all := k.of(&p.Workload)
		kept := pick(all)
		all.SetZero()
		if kept.IsValid() {
			all.Set(reflect.MakeMap(all.Type()))
			all.SetMapIndex(reflect.ValueOf(1), kept)
		}
	}
	p.Workload.Jobs, p.About = 1, nil
}

// StrikeAt makes the i-th fault, a crash or a pause, strike at a phase of a single job. It turns a pause into
// a failure of the operation, since all that a pause can do is to make an operation time out.
func (p *Plan) StrikeAt(i int, phase string) {
	f, at := &p.Faults[i], &faults.Match{Job: 1, Phase: phase}
	if f.Do == faults.Pause {
		*f = faults.Fault{On: at, Do: faults.FailBefore}
	} else {
		*f = faults.Fault{After: at, Do: faults.Crash, Node: faults.Actor, RestartIn: f.RestartIn}
	}
	p.MergeJobs(0)
}

// Pivots lists the phases at which a crash or a pause of f's node has most effect.
func (t Topology) Pivots(f *faults.Fault) []string {
	node := f.Node
	if node == faults.Actor {
		node = t.Actors(f.After.Phase)[0]
	}
	switch actors.RoleOf(node) {
	case actors.SchedulerRole:
		return []string{"publish", "dispatched_write", "scheduled_write", "state_read", "lock_acquire", "running_write", "rollback_write", "lock_release", "submit_ack", "result_deliver", "result_write"}
	case actors.WorkerRole:
		return []string{"job_deliver", "effect", "result_publish"}
	}
	return nil
}

// DropJob removes the last job, and the faults that concern it.
func (p *Plan) DropJob(n int) {
	p.Faults = slices.DeleteFunc(p.Faults, func(f faults.Fault) bool {
		m := MatchOf(&f)
		return m != nil && m.Job == n
	})
	for _, k := range perJobs {
		k.forget(&p.Workload, n)
	}
	p.Kernel.renumber(func(m int) int {
		if m == n {
			return 0
		}
		return m
	})
	p.About = slices.DeleteFunc(p.About, func(a int) bool { return a == n })
	p.Workload.Jobs = n - 1
}

// Fewer leaves n nodes of a role. Faults on removed nodes move to the last node that is left.
func (p *Plan) Fewer(role string, count *int, n int) {
	left := NodeNames(role, n)
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

// MatchOf is the operation at or after which the fault strikes; nil if it strikes at a time.
func MatchOf(f *faults.Fault) *faults.Match {
	if f.On != nil {
		return f.On
	}
	return f.After
}

// matchNode points to the node in the fault's match.
func matchNode(f *faults.Fault) *string {
	if m := MatchOf(f); m != nil {
		return &m.Node
	}
	return new(string)
}

// Matches returns the matches of the plan's faults, which the caller may change.
func (p *Plan) Matches() (all []*faults.Match) {
	for i := range p.Faults {
		if m := MatchOf(&p.Faults[i]); m != nil {
			all = append(all, m)
		}
	}
	return all
}

// Clone copies the plan. Shrinking one copy does not change the other.
func (p *Plan) Clone() *Plan {
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
	c.Kernel = p.Kernel.clone()
	c.About = slices.Clone(p.About)
	for _, k := range perJobs {
		k.copy(&c.Workload, &p.Workload)
	}
	return &c
}
