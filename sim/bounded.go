package sim

import (
	"cmp"
	"slices"
	"time"
)

// Bounded is a [Strategy] that runs one actor until it can do nothing more, and pre-empts it only at the
// steps that it is told to. Next is what the last step brought about at its own node: first for the same
// actor, then for other actors of the node. Then comes whatever else the same actor can do. Then come the
// other operations, those of the node whose name sorts last first. Operations of one node are ordered by
// kind, name, target and job. All operations are ready at once, so virtual time passes only when no actor can
// move.
//
// A search over all short lists of pre-emptions is a delay-bounded one (Emmi, Qadeer, Rakamarić:
// Delay-Bounded Scheduling, POPL 2011), in which a delay leads to any other operation. It differs from a
// context-bounded search (Musuvathi, Qadeer: Iterative Context Bounding for Systematic Testing of
// Multithreaded Programs, PLDI 2007) in one thing: the successor of an actor that can do nothing more is
// fixed as well, and another successor costs a pre-emption.
//
// The next operation does not depend on the order of unrelated things before it. So a search may treat runs
// that differ only in that order as one run. A Bounded is for one run.
type Bounded struct {
	Preemptions []Preemption     // in ascending order of their steps
	Watch       func(ch *Choice) // is called with each choice, and must not keep any of it; nil is not called

	last   *Op
	missed []Preemption
	choice Choice
}

// Choice is a step's operations, and the one that was chosen.
type Choice struct {
	Step   int   // the number of the step, from 1
	Ready  []*Op // in the order that [Bounded] describes
	Chosen int
}

// Preemption returns the pre-emption that would choose the i-th operation.
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

// Pick takes the operation that a pre-emption names for this step, or else the one whose turn it is.
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

// turn returns the index of the operation whose turn it is.
func (s *Bounded) turn(c *Choice) int {
	rank := func(op *Op) int {
		if s.last == nil || op.Node() != s.last.Node() {
			return 3
		}
		brought := op.since == c.Step-1 && op.Kind != KindDeliver && op.Kind != KindReceive // a message that comes in was sent by another node
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

// find returns the index of the operation that the pre-emption names, or -1.
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

// Missed lists the pre-emptions that changed nothing: there was no such operation at the step, or it was its
// turn anyway.
func (s *Bounded) Missed() []Preemption { return append(slices.Clip(s.missed), s.Preemptions...) }
