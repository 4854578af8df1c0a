package whatif

import (
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

// ordersTried is how many orders are tried from a step. A violation that comes in half of the orders passes for one that
// always comes once in 256.
const ordersTried = 8

// noReturn looks for the point of no return by halves, up to the step of the violation. It gives up, with nil, once the
// steps are used up.
func (b *bench) noReturn(violated int) (*why.NoReturn, error) {
	b.steps = 0
	from := 0
	tries := func(step int) (came int, err error) {
		for seed := range uint64(ordersTried) {
			var then sim.Strategy = sim.Latency{}
			if seed%2 == 1 {
				then = sim.Random{}
			}
			_, comes, _, err := b.play(b.plan, &scenarios.Branch{Then: then, Step: step, Seed: seed}, nil)
			if err != nil {
				return 0, err
			}
			if comes {
				came++
			}
		}
		return came, nil
	}
	n := &why.NoReturn{Step: violated, Orders: ordersTried}
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
		if b.spent() {
			return nil, nil
		}
	}
	if n.Step == 0 {
		n.Before = ordersTried
	}
	return n, nil
}
