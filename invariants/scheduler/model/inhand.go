package model

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/sim"
)

// inHand are deliveries that were not answered: a process that is slow has one still when another is given the message.
type inHand []delivery

type delivery struct {
	process        string
	seq, delivered uint64
}

func deliveryOf(e *sim.Event) delivery {
	return delivery{invariants.Process(e.Node, e.Incarnation), e.Seq, e.Delivered}
}

// answers takes in a delivery of the message, or the answer to one. It says whether the delivery was answered before.
func (m *Message) answers(e *sim.Event) (again bool) {
	d := deliveryOf(e)
	i := slices.Index(m.answered, d)
	switch {
	case e.Kind == sim.KindDeliver && i >= 0: // a consumer that has lost a part of its state counts from one again
		m.answered = slices.Delete(m.answered, i, i+1)
	case e.Kind != sim.KindDeliver && i < 0:
		m.answered = append(m.answered, d)
	}
	return e.Kind != sim.KindDeliver && i >= 0
}

// follow takes in a delivery, or the answer to one. It says whether it is the first such: an answer may be sent again.
func (h *inHand) follow(e *sim.Event) bool {
	d := deliveryOf(e)
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

// on says whether a process of the node has one.
func (h inHand) on(node string) bool {
	return slices.ContainsFunc(h, func(d delivery) bool {
		name, _, _ := strings.Cut(d.process, " ")
		return name == node
	})
}

// processes are those that have one, once for each.
func (h inHand) processes() (list []string) {
	for _, d := range h {
		list = append(list, d.process)
	}
	return list
}
