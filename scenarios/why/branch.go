package why

import (
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/sim"
)

// NoReturn is the first step from which a violation comes in every order that was tried. The orders before the step are
// the run's own.
type NoReturn struct {
	Step   int `json:"step"`   // 0: it comes in every order from the start
	Orders int `json:"orders"` // how many were tried from each step
	Before int `json:"before"` // in how many of them it comes from the step before; of Step 0 it is Orders
}

// ordersTried is how many orders are tried from a step. A violation that comes in half of the orders passes for one that
// always comes once in 256.
const ordersTried = 8

// noReturn looks for that step by halves, up to the step of the violation. It gives up, with nil, once the runs have taken
// as many steps as most.
func (b *bench) noReturn(plan *plans.Plan, violated, most int) (*NoReturn, error) {
	least, from := b.steps, 0
	tries := func(step int) (came int, err error) {
		for seed := range uint64(ordersTried) {
			var then sim.Strategy = sim.Latency{}
			if seed%2 == 1 {
				then = sim.Random{}
			}
			_, comes, _, err := b.play(plan, &scenarios.Branch{Then: then, Step: step, Seed: seed}, nil)
			if err != nil {
				return 0, err
			}
			if comes {
				came++
			}
		}
		return came, nil
	}
	n := &NoReturn{Step: violated, Orders: ordersTried}
	for from < n.Step {
		middle := from + (n.Step-from)/2
		came, err := tries(middle)
		switch {
		case err != nil:
			return nil, err
		case came == ordersTried:
			n.Step = middle
		default:
			from, n.Before = middle+1, came
		}
		if b.steps-least > most {
			return nil, nil
		}
	}
	if n.Step == 0 {
		n.Before = ordersTried
	}
	return n, nil
}
