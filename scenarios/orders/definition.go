package orders

import (
	"fmt"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Definition is what is tried: a plan in every order of few pre-emptions.
type Definition struct {
	Plan        string `json:"plan"`        // as YAML
	Preemptions int    `json:"preemptions"` // how many there are at most
	Apart       bool   `json:"apart"`       // runs that differ only in the order of things that have nothing to do with each other are taken for one
}

// Define takes a plan and how many pre-emptions there are to be at most. What it expects is put aside: every promise is
// judged in every run, and an order of its own gives way.
//
// A fault may touch anything, and counts operations over all nodes. So a plan with faults is searched without taking
// runs for one.
func Define(plan *plans.Plan, preemptions int) (*Definition, error) {
	p := plan.Clone()
	p.Expect = plans.Expect{}
	p.Schedule.Strategy, p.Schedule.Preemptions = plans.Bounded, ""
	if p.Schedule.StepsMax > stepsMax {
		p.Schedule.StepsMax = stepsMax
	}
	text, err := plans.Marshal(p)
	if err != nil {
		return nil, err
	}
	if preemptions < 0 || preemptions > PreemptionsMax {
		return nil, fmt.Errorf("there are %d pre-emptions; give 0 to %d", preemptions, PreemptionsMax)
	}
	return &Definition{Plan: string(text), Preemptions: preemptions, Apart: len(p.Faults) == 0 && p.World.Dying == 0}, nil
}

// PreemptionsMax is how many pre-emptions a search can be asked for at most: there are few worlds so small that even five
// come to an end.
const PreemptionsMax = 10

// stepsMax is how many steps a run has at most. The base order is unfair: an actor that tries again without letting time
// pass would go on for ever.
const stepsMax = 100_000
