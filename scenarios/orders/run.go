package orders

import (
	"context"
	"io"
	"slices"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/campaign"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// Run is the run of an order: its outcome, and where one more pre-emption is possible.
type Run struct {
	Digest  string            `json:"digest"`
	Verdict scenarios.Verdict `json:"verdict"`
	Reason  string            `json:"reason"`
	Broken  []string          `json:"broken,omitempty"` // invariants, within their promises, or the way out of bounds
	Steps   int               `json:"steps"`
	Actors  int               `json:"actors"`
	Class   uint64            `json:"class"`            // a hash of all that happened, except for the order of independent operations
	Points  []Point           `json:"points,omitempty"` // the steps after the last pre-emption
}

// Point is a step at which other operations could have gone.
type Point struct {
	State  uint64  `json:"state"`  // after the step
	Others []Other `json:"others"` // the operations that could have gone instead
}

// Other is an operation that could have gone.
type Other struct {
	Step  int    `json:"step"`
	To    string `json:"to"`
	Nth   int    `json:"nth"`
	State uint64 `json:"state"` // after the operation
}

func (o Other) preemption() sim.Preemption { return sim.Preemption{Step: o.Step, To: o.To, Nth: o.Nth} }

// Try runs the plan with these pre-emptions.
func (d *Definition) Try(ctx context.Context, list []sim.Preemption) (*Run, error) {
	return d.try(ctx, list, nil, func(*sim.Choice) {})
}

// try also writes the run's trace, and reports its choices.
func (d *Definition) try(ctx context.Context, list []sim.Preemption, trace io.Writer, choices func(*sim.Choice)) (*Run, error) {
	p, err := d.PlanOf(list)
	if err != nil {
		return nil, err
	}
	after := 0
	if len(list) > 0 {
		after = list[len(list)-1].Step
	}
	r, c, all := &Run{}, newClass(d.Apart), newClass(true)
	actors := map[sim.Actor]bool{}
	watch := func(ch *sim.Choice) {
		choices(ch)
		c.begin(ch.Step)
		all.begin(ch.Step)
		for _, op := range ch.Ready {
			actors[op.Actor()] = true
		}
		var point Point
		for i, op := range ch.Ready {
			if i != ch.Chosen && ch.Step > after {
				h := c.operation(op)
				one := ch.Preemption(i)
				c.sum += h
				point.Others = append(point.Others, Other{one.Step, one.To, one.Nth, c.state(h)})
				c.sum -= h
			}
		}
		chosen := ch.Ready[ch.Chosen]
		all.add(chosen, all.operation(chosen))
		h := c.operation(chosen)
		c.add(chosen, h)
		if ch.Step > after {
			point.State = c.state(h)
			r.Points = append(r.Points, point)
		}
	}
	res, err := scenarios.Run(ctx, p, scenarios.RunOptions{Source: p.Name, Modified: true, Drawn: true, Choices: watch, Trace: trace})
	if err != nil {
		return nil, err
	}
	r.Class = all.sum
	r.Digest, r.Verdict, r.Reason, r.Steps, r.Actors = res.Digest, res.Verdict, res.Reason, res.Steps, len(actors)
	for _, v := range res.Violations {
		if v.Promised && !slices.Contains(r.Broken, v.Invariant) {
			r.Broken = append(r.Broken, v.Invariant)
		}
	}
	slices.Sort(r.Broken)
	if c := campaign.RecordOf(0, p, res).Contained; c != nil { // the campaign that examines it makes a finding of it
		r.Broken = []string{string(c.What)}
	}
	return r, nil
}

// PlanOf returns the plan with these pre-emptions.
func (d *Definition) PlanOf(list []sim.Preemption) (*plans.Plan, error) {
	p, err := plans.Parse("ordered", []byte(d.Plan))
	if err != nil {
		return nil, err
	}
	p.Schedule.Strategy, p.Schedule.Preemptions = plans.Bounded, sim.Preemptions(list)
	return p, p.Validate()
}
