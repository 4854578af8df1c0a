package whatif

import (
	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

// ordersTried is how many orders are tried from a step. If a violation comes in half of all orders, it comes
// in all that are tried once in 256 times.
const ordersTried = 8

// noReturn looks for the point of no return up to the step of the violation: first at the start, then by
// bisection. If the violation comes in every order from a step, it comes in every order from a later step,
// too, since those are among the former. So bisection finds the first such step, as far as so few orders can
// tell. The job of the violation may depend on the order, and is ignored here. noReturn returns nil if the
// steps do not suffice.
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

// comesInAnotherOrder says whether the violation comes in one of the orders from the start. Its job may
// depend on the order, so any job counts, unless the plan's own run violates the invariant for several.
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

// ordersFrom counts the orders from a step in which the violation comes. If the result of one is not known,
// known is false.
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
