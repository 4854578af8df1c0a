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

// Run is one order: what came of it, and where it could have been pre-empted once more.
type Run struct {
	Digest  string            `json:"digest"`
	Verdict scenarios.Verdict `json:"verdict"`
	Reason  string            `json:"reason"`
	Broken  []string          `json:"broken,omitempty"` // invariants, within their promise; or the way out of bounds
	Steps   int               `json:"steps"`
	Actors  int               `json:"actors"`
	Class   uint64            `json:"class"`            // of all that happened, whatever the order of things that have nothing to do with each other
	Points  []Point           `json:"points,omitempty"` // the steps after the last pre-emption
}

// Point is one step at which others could have gone.
type Point struct {
	State  uint64  `json:"state"`  // after it
	Others []Other `json:"others"` // than the one that went
}

// Other is what could have gone.
type Other struct {
	Step  int    `json:"step"`
	To    string `json:"to"`
	Nth   int    `json:"nth"`
	State uint64 `json:"state"` // after it
}

func (o Other) preemption() sim.Preemption { return sim.Preemption{Step: o.Step, To: o.To, Nth: o.Nth} }

// Try runs the plan in the order of these pre-emptions.
func (d *Definition) Try(ctx context.Context, list []sim.Preemption) (*Run, error) {
	return d.try(ctx, list, nil, func(*sim.Choice) {})
}

// try runs it, writes its trace, and tells its choices.
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
	if c := campaign.RecordOf(0, p, res).Contained; c != nil { // a finding to the campaign that looks into it
		r.Broken = []string{string(c.What)}
	}
	return r, nil
}

// PlanOf is the plan in the order of these pre-emptions.
func (d *Definition) PlanOf(list []sim.Preemption) (*plans.Plan, error) {
	p, err := plans.Parse("ordered", []byte(d.Plan))
	if err != nil {
		return nil, err
	}
	p.Schedule.Strategy, p.Schedule.Preemptions = plans.Bounded, sim.Preemptions(list)
	return p, p.Validate()
}
