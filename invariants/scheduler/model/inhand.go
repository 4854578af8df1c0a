package model

import (
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/sim"
)

// inHand are deliveries that were not answered: a process that is slow has one still when another is given the message.
type inHand []delivery

type delivery struct {
	process        string
	seq, delivered uint64
}

// follow takes in a delivery, or the answer to one. It says whether it is the first such: an answer may be sent again.
func (h *inHand) follow(e *sim.Event) bool {
	d := delivery{invariants.Process(e.Node, e.Incarnation), e.Seq, e.Delivered}
	i := slices.Index(*h, d)
	switch {
	case e.Kind == sim.KindDeliver:
		*h = append(*h, d)
		return i < 0
	case i >= 0:
		*h = slices.Delete(*h, i, i+1)
	}
	return i >= 0
}

// By says whether the process has one.
func (h inHand) By(process string) bool {
	return slices.ContainsFunc(h, func(d delivery) bool { return d.process == process })
}

// processes are those that have one, once for each.
func (h inHand) processes() (list []string) {
	for _, d := range h {
		list = append(list, d.process)
	}
	return list
}
