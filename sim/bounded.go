package sim

import (
	"cmp"
	"slices"
	"time"
)

// Bounded is an order that is given step by step where it matters: it pre-empts nobody but at the steps that it is told
// to. In between who has begun goes on while he can: what the last step brought about at its own node is next, for the
// same actor first, then whatever else that actor can do, then what the nodes can, the last by its name first. Operations
// of one node are in the order of kind, name, target and job. All are ready at once, so virtual time passes only when no
// actor can move.
//
// A search over all lists of few pre-emptions is a delay-bounded one (Emmi, Qadeer, Rakamarić: Delay-Bounded Scheduling,
// POPL 2011), in which a delay leads to any other operation. It differs from a context-bounded one (Musuvathi, Qadeer:
// Iterative Context Bounding for Systematic Testing of Multithreaded Programs, PLDI 2007) in one thing: who follows an actor
// that can do nothing more is fixed as well, and another costs a pre-emption.
//
// What is next depends on nothing but what has happened to whom, not on the order of things that have nothing to do with
// each other, so that a search may take runs that differ in that alone for one. It is for one run.
type Bounded struct {
	Preemptions []Preemption     // in the order of their steps
	Watch       func(ch *Choice) // is told of each choice, of which it may keep nothing; nil is nobody

	last   *Op
	missed []Preemption
	choice Choice
}

// Choice is what could go at one step.
type Choice struct {
	Step   int   // from 1, that the choice makes
	Ready  []*Op // by what they are
	Chosen int
}

// Preemption of the i-th operation of the choice.
func (c *Choice) Preemption(i int) Preemption {
	p := Preemption{Step: c.Step, To: c.Ready[i].Actor().String()}
	for _, op := range c.Ready[:i+1] {
		if op.Actor() == c.Ready[i].Actor() {
			p.Nth++
		}
	}
	return p
}

// Delay is zero.
func (s *Bounded) Delay(*Op, uint64) time.Duration { return 0 }

// Pick takes the operation of the step's pre-emption, or else the one whose turn it is.
func (s *Bounded) Pick(ready []*Op) int {
	c := &s.choice
	c.Step, c.Ready = ready[0].world.steps+1, append(c.Ready[:0], ready...)
	slices.SortStableFunc(c.Ready, (*Op).compare)
	c.Chosen = s.turn(c)
	for len(s.Preemptions) > 0 && s.Preemptions[0].Step <= c.Step {
		if i := c.find(s.Preemptions[0]); i >= 0 && i != c.Chosen {
			c.Chosen = i
		} else {
			s.missed = append(s.missed, s.Preemptions[0])
		}
		s.Preemptions = s.Preemptions[1:]
	}
	if s.Watch != nil {
		s.Watch(c)
	}
	s.last = c.Ready[c.Chosen]
	return slices.Index(ready, s.last)
}

// turn is whose turn it is.
func (s *Bounded) turn(c *Choice) int {
	rank := func(op *Op) int {
		if s.last == nil || op.Node() != s.last.Node() {
			return 3
		}
		brought := op.since == c.Step-1 && op.Kind != KindDeliver && op.Kind != KindReceive // what comes in is another's doing
		switch same := op.Actor() == s.last.Actor(); {
		case brought && same:
			return 0
		case brought:
			return 1
		case same:
			return 2
		}
		return 3
	}
	first := slices.MinFunc(c.Ready, func(a, b *Op) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Node(), a.Node()))
	})
	return slices.Index(c.Ready, first)
}

// find is where the operation is that the pre-emption lets go, or -1.
func (c *Choice) find(p Preemption) int {
	if p.Step == c.Step {
		for i := range c.Ready {
			if c.Preemption(i) == p {
				return i
			}
		}
	}
	return -1
}

// Missed are the pre-emptions that changed nothing: there was no such operation at that step, or it was its turn.
func (s *Bounded) Missed() []Preemption { return append(slices.Clip(s.missed), s.Preemptions...) }
