package sim

import "time"

// Branch is a strategy that parts from another one at a step. Trunk orders the operations until that step is
// granted, and Then orders them after it, with chances drawn from Seed. Branches of one trunk share its
// events up to the step, and each seed gives another continuation. Draws for anything but the order stay as
// they are. Then must not be the strategy of another run.
type Branch struct {
	Trunk, Then Strategy
	Step        int // 0 parts from the trunk at the start
	Seed        uint64
}

// Delay asks Trunk about an operation that parks before the step is granted, and Then about later ones.
func (b *Branch) Delay(op *Op, chance uint64) time.Duration {
	if op.since < b.Step {
		return b.Trunk.Delay(op, chance)
	}
	chance = mix(chance, b.Seed+2) // mixing with 1 makes the priority
	op.Priority = mix(chance, 1)
	return b.Then.Delay(op, chance)
}

// Pick asks Trunk until the step is granted, and Then after it.
func (b *Branch) Pick(ready []*Op) int {
	if ready[0].world.steps < b.Step {
		return b.Trunk.Pick(ready)
	}
	return b.Then.Pick(ready)
}
