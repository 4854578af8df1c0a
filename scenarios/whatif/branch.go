package whatif

import (
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

// ordersTried is how many orders are tried from a step. A violation that comes in half of the orders passes for one that
// always comes once in 256.
const ordersTried = 8

// noReturn looks for the point of no return up to the step of the violation, first at the start and then by halves. What comes
// in every order from a step comes in every order from a later one, too, as those are among the orders from the first: halves
// find the first such step, as far as so few orders tell. Which job it comes of may hang on the order, and is no matter here. It
// gives up, with nil, if the steps do not suffice.
func (b *bench) noReturn(violated int) (*why.NoReturn, error) {
	defer func(of string) { b.of = of }(b.of)
	b.of = ""
	n := &why.NoReturn{Step: violated, Never: true, Before: ordersTried, Orders: ordersTried}
	for from, step := 0, 0; from < n.Step; step = from + (n.Step-from)/2 {
		came, known, err := b.ordersFrom(b.plan, step)
		switch {
		case err != nil || !known:
			return nil, err
		case came == ordersTried:
			n.Step, n.Never = step, false
		default:
			from, n.Before = step+1, came
		}
	}
	return n, nil
}

// comesInAnotherOrder says whether the violation comes in one of the orders from the start. Of which job it comes may hang on the order,
// unless the plan's own run has it of several.
func (b *bench) comesInAnotherOrder(plan *plans.Plan) (comes, known bool, err error) {
	defer func(of string) { b.of = of }(b.of)
	if len(b.whole.BrokenFor(b.invariant, b.anyway)) == 1 {
		b.of = ""
	}
	all := true
	for seed := range uint64(ordersTried) {
		_, comes, known, err := b.play(plan, inOrder(0, seed), nil)
		if err != nil || comes {
			return comes, true, err
		}
		all = all && known
	}
	return false, all, nil
}

// ordersFrom counts the orders from a step in which the violation comes. That is not known if it is not of any one of them.
func (b *bench) ordersFrom(plan *plans.Plan, step int) (came int, known bool, err error) {
	for seed := range uint64(ordersTried) {
		_, comes, known, err := b.play(plan, inOrder(step, seed), nil)
		if err != nil || !known {
			return 0, false, err
		}
		if comes {
			came++
		}
	}
	return came, true, nil
}

// inOrder is one of the orders from a step.
func inOrder(step int, seed uint64) *scenarios.Branch {
	var then sim.Strategy = sim.Latency{}
	if seed%2 == 1 {
		then = sim.Random{}
	}
	return &scenarios.Branch{Then: then, Step: step, Seed: seed}
}
