package orders

import (
	"fmt"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// Definition is what is tried: a plan in every order with few pre-emptions.
type Definition struct {
	Plan        string `json:"plan"`        // in YAML
	Preemptions int    `json:"preemptions"` // the largest number
	Apart       bool   `json:"apart"`       // runs that differ only in the order of independent operations are taken for one
}

// Define takes a plan and the largest number of pre-emptions. It ignores the plan's expectations and its
// order: every promise is judged in every run.
//
// A fault may affect anything, and counts operations over all nodes. So for a plan with faults, no runs are
// taken for one.
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

// PreemptionsMax is the largest number of pre-emptions that a search can have. Few worlds are so small that a
// search with even five ends.
const PreemptionsMax = 10

// stepsMax is the largest number of steps in a run. The base order is unfair: an actor that retries without
// letting time pass would go on for ever.
const stepsMax = 100_000
