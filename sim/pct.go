package sim

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"
)

// PCT is probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte: A Randomized Scheduler with
// Probabilistic Guarantees of Finding Bugs, ASPLOS 2010). Every [Actor] has a drawn priority, and the highest that can
// move does. At d-1 steps, drawn from the first k, the actor that would move drops below all that have not dropped.
//
// A bug of depth d hangs on d orderings of operations of different actors. A run of n actors in which it shows within k
// steps finds it with a chance of at least 1/(n k^(d-1)), which [Bound] computes. Among operations of one actor the order
// is drawn anew for each, as by [Random]: the bound says nothing of bugs that hang on that.
//
// The number of steps must be known beforehand, for the draws to cover the run, and may not be learned from other runs,
// for a plan is to say all by itself. So it is given. What gives it may count the steps of one run under [Random]. More
// steps than there are leave the bound true, of that number; of fewer, it holds for what shows within them.
//
// Strict priorities are unfair: an actor that tries again without letting time pass would keep those below it waiting for
// ever. So after k steps, when no priority is to drop any more, the order is that of [Random], which is fair. As with
// Random, virtual time passes only when no actor can move.
//
// Priorities and steps are keyed draws: an actor that is left out changes no other's priority. It is for one run.
type PCT struct {
	seed       uint64
	steps      int
	drops      []int // the steps at which a priority drops, in the order of what it drops to, the lowest first
	priorities map[Actor]uint64
}

// NewPCT drops priorities at so many of the first steps.
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

// meet draws a priority for an actor that was not met before, above all to which priorities drop.
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

// Actors is how many have been met.
func (s *PCT) Actors() int { return len(s.priorities) }

// Steps is how many the change points were drawn from.
func (s *PCT) Steps() int { return s.steps }

// Bound is the least chance with which one run of so many actors and steps finds a bug that hangs on one ordering more
// than there are change points.
func Bound(actors, steps, changePoints int) float64 {
	return 1 / (float64(max(1, actors)) * math.Pow(float64(max(1, steps)), float64(changePoints)))
}
