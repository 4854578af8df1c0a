package exhaust

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Site is an operation of a run, as a fault names it.
type Site struct {
	Phase      string        `json:"phase"`
	Job        int           `json:"job,omitempty"` // 0 if it concerns no job
	Occurrence int           `json:"occurrence"`    // its number among those of its phase and job or, without a job, of its phase and node; from 1
	Node       string        `json:"node"`          // the node that makes it
	At         time.Duration `json:"at_ns"`         // when it was made, in the run in which it first appeared
}

func (s *Site) match() *faults.Match {
	m := &faults.Match{Job: s.Job, Phase: s.Phase, Occurrence: s.Occurrence}
	if s.Job == 0 {
		m.Node = s.Node
	}
	return m
}

func (s Site) String() string {
	if s.Job == 0 {
		return fmt.Sprintf("%s %d", s.Phase, s.Occurrence)
	}
	return fmt.Sprintf("%s %d of job %d", s.Phase, s.Occurrence, s.Job)
}

// moment is a site, and what is known when it is reached.
type moment struct {
	Site
	Own   bool     `json:"own,omitempty"` // a fault of the plan strikes the operation or keeps it from its server, so no other can strike it
	OfJob standing `json:"of_job"`
	OfAll standing `json:"of_all"`
}

// standing is what is known at a moment, of the site's job or of everything, and the strikes so far.
type standing struct {
	Likeness uint64             `json:"likeness"`
	Struck   []invariants.Kinds `json:"struck"`
}

// listed is what faults can strike in a run.
type listed struct {
	Moments []moment `json:"moments"`          // in the order in which they come
	Apart   int      `json:"apart,omitempty"`  // operations of jobs that no fault can name
	Aside   int      `json:"aside,omitempty"`  // operations of jobs that the plan is not about
	Beyond  bool     `json:"beyond,omitempty"` // the run took its process down
}

// Listed is what faults can strike in a run, in a form that another process can pass on.
type Listed = listed

// List runs the plan, given as YAML, and lists the operations after its last fault.
func (o *Options) List(ctx context.Context, plan string) (Listed, error) {
	p, err := plans.Parse("struck", []byte(plan))
	if err != nil {
		return Listed{}, err
	}
	l, _, err := o.momentsOf(ctx, p, true)
	return l, err
}

// momentsOf runs the plan and lists its operations: all, or those after the strike of the plan's last fault.
func (o *Options) momentsOf(ctx context.Context, p *plans.Plan, afterLast bool) (l listed, res *scenarios.Result, err error) {
	phases, about := phasesOf(p), o.about(p)
	seen := map[faults.Match]bool{}
	opt := o.options(p)
	opt.Survey = func(op scenarios.Surveyed) {
		phase, known := phases[op.Phase]
		if !known || afterLast && !slices.ContainsFunc(op.Fired, func(f faults.Fired) bool { return f.Number == len(p.Faults)-1 }) {
			return
		}
		m := moment{Site: Site{Phase: op.Phase, Occurrence: op.OnNode, Node: op.Node, At: op.At}, Own: op.Struck}
		if !phase.NoJob {
			m.Occurrence = op.Occurrence
			var numbered bool
			if m.Job, numbered = plans.JobNumber(op.Job); !numbered {
				if o.asks(op.Phase) {
					l.Apart++
				}
				return
			}
		}
		if key := *m.match(); seen[key] {
			return
		} else {
			seen[key] = true
		}
		m.OfJob.Likeness, m.OfJob.Struck = op.Facts.Likeness(func(job string) bool { return job == op.Job })
		m.OfAll.Likeness, m.OfAll.Struck = op.Facts.Likeness(about)
		l.Moments = append(l.Moments, m)
	}
	res, err = scenarios.Run(ctx, p, opt)
	return l, res, err
}

// asks says whether operations of the phase are to be struck.
func (o *Options) asks(phase string) bool {
	return len(o.Phases) == 0 || slices.Contains(o.Phases, phase)
}

// about says which jobs count as part of everything. If the search is reduced, those are the jobs that the
// plan is about, and jobs without a number, which the schedulers submit.
func (o *Options) about(p *plans.Plan) func(job string) bool {
	numbers := p.Concerned()
	return func(job string) bool {
		n, numbered := plans.JobNumber(job)
		return !o.Reduced || len(numbers) == 0 || !numbered || slices.Contains(numbers, n)
	}
}

// phasesOf maps the phases of the plan's world by name.
func phasesOf(p *plans.Plan) map[string]faults.Phase {
	phases := map[string]faults.Phase{}
	for _, phase := range p.Phases() {
		phases[phase.Name] = phase
	}
	return phases
}

// options returns the options of a run.
func (o *Options) options(p *plans.Plan) scenarios.RunOptions {
	opt := scenarios.RunOptions{Source: p.Name, Modified: true, Drawn: true}
	if o.Variant != nil {
		opt.Variant = o.Variant()
	}
	return opt
}
