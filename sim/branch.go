package sim

import "time"

// Branch is an order that parts from another at a step: until that step was granted, operations are ordered by Trunk, and
// after it by Then, with chances of its own. Branches of one trunk have its events up to the step, and each seed gives
// another continuation. What is drawn besides the order stays as it is. Then must not be the strategy of another run.
type Branch struct {
	Trunk, Then Strategy
	Step        int // 0: another order from the start
	Seed        uint64
}

// Delay is the trunk's for an operation that parks before the step is granted.
func (b *Branch) Delay(op *Op, chance uint64) time.Duration {
	if op.since < b.Step {
		return b.Trunk.Delay(op, chance)
	}
	chance = mix(chance, b.Seed+2) // 1 makes the priority
	op.Priority = mix(chance, 1)
	return b.Then.Delay(op, chance)
}

// Pick is the trunk's until the step was granted.
func (b *Branch) Pick(ready []*Op) int {
	if ready[0].world.steps < b.Step {
		return b.Trunk.Pick(ready)
	}
	return b.Then.Pick(ready)
}
