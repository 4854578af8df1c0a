package sim

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"
)

// PCT is probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte: A Randomized
// Scheduler with Probabilistic Guarantees of Finding Bugs, ASPLOS 2010). Every [Actor] has a drawn priority,
// and the actor with the highest priority moves, of those that can. At d-1 steps, drawn from the first k, the
// actor that would move drops below all that have not dropped.
//
// A bug of depth d depends on d orderings of operations of different actors. If it shows within k steps of a
// run with n actors, the run finds it with a chance of at least 1/(n k^(d-1)), which [Bound] computes. The
// order among operations of one actor is drawn for each operation, as by [Random], so the bound says nothing
// of bugs that depend on that order.
//
// The number of steps must be known before the run, so that the draws cover the run. It may not be learned
// from other runs, since a plan determines its run alone. So it is given, for instance as the count of one
// run's steps under [Random]. If the given number is larger than the run's, the bound holds with the given
// number. If it is smaller, the bound holds for what shows within that many steps.
//
// Strict priorities are unfair: an actor that retries without letting time pass would keep lower ones waiting
// for ever. So after k steps, when no priority can drop any more, the order is that of [Random], which is
// fair. As with Random, virtual time passes only when no actor can move.
//
// Priorities and steps are keyed draws: leaving out an actor changes no other's priority. A PCT is for one
// run.
type PCT struct {
	seed       uint64
	steps      int
	drops      []int // the steps at which a priority drops; the one to drop lowest comes first
	priorities map[Actor]uint64
}

// NewPCT returns a PCT whose priorities drop at changePoints of the first steps.
func NewPCT(seed uint64, changePoints, steps int) *PCT {
	s := &PCT{seed: seed, steps: max(1, steps), priorities: map[Actor]uint64{}}
	for i := range changePoints {
		s.drops = append(s.drops, 1+int(Draw(seed, "change point", strconv.Itoa(i))%uint64(s.steps)))
	}
	return s
}

// Delay is zero.
func (s *PCT) Delay(*Op, uint64) time.Duration { return 0 }

// Pick takes an operation of the actor with the highest priority.
func (s *PCT) Pick(ready []*Op) int {
	for _, op := range ready {
		s.meet(op.Actor())
	}
	step := ready[0].world.steps + 1
	if step > s.steps {
		return Random{}.Pick(ready)
	}
	for to, at := range s.drops {
		if at == step {
			s.priorities[s.highest(ready)] = uint64(to)
		}
	}
	who := s.highest(ready)
	first := -1
	for i, op := range ready {
		if op.Actor() == who && (first < 0 || op.Priority < ready[first].Priority) {
			first = i
		}
	}
	return first
}

// meet draws a priority for an actor that is new. It is above all to which priorities drop.
func (s *PCT) meet(a Actor) {
	if _, ok := s.priorities[a]; !ok {
		s.priorities[a] = max(Draw(s.seed, "priority", a.Node, a.Job), uint64(len(s.drops)))
	}
}

func (s *PCT) highest(ready []*Op) Actor {
	return slices.MaxFunc(ready, func(a, b *Op) int {
		return cmp.Compare(s.priorities[a.Actor()], s.priorities[b.Actor()])
	}).Actor()
}

// Actors is the number of actors that have taken part.
func (s *PCT) Actors() int { return len(s.priorities) }

// Steps is the number of steps that the change points were drawn from.
func (s *PCT) Steps() int { return s.steps }

// Bound is the least chance with which one run finds a bug of depth changePoints+1, given its numbers of
// actors and steps.
func Bound(actors, steps, changePoints int) float64 {
	return 1 / (float64(max(1, actors)) * math.Pow(float64(max(1, steps)), float64(changePoints)))
}
