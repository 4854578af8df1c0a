package orders

import (
	"strconv"

	"github.com/wavetank-sim/wavetank/sim"
)

// class is what has happened so far in a run, but for the order of things that have nothing to do with each other: the
// happens-before hash of Musuvathi and Qadeer's CHESS. Two runs that have come to equal classes are in equal states.
//
// An operation comes after what its node did before, and after what was done to whatever it uses: after all of it if it
// changes that, and after the changes if it only looks. The hash of an operation is of itself and those; that of a class is
// the sum of its operations', so that it does not depend on their order.
type class struct {
	apart  bool // operations that have nothing to do with each other are told apart from those that have
	step   int  // the last
	sum    uint64
	base   uint64 // of all that came before the harness's last step, with which everything has to do
	nodes  map[string]uint64
	things map[string]thing
}

// thing is what was done last to something that operations use.
type thing struct {
	changed uint64 // the operation that changed it last
	looks   uint64 // the sum of those that have looked since
}

func newClass(apart bool) *class {
	return &class{apart: apart, nodes: map[string]uint64{}, things: map[string]thing{}}
}

// begin is told of each step that is chosen. Where one is left out the harness has taken it, and everything that is to come is
// put after everything that was.
func (c *class) begin(step int) {
	follows := step == c.step+1
	c.step = step
	if follows {
		return
	}
	c.base = hash(c.sum, "barrier", strconv.Itoa(step))
	c.sum = c.base
	clear(c.nodes)
	clear(c.things)
}

// operation is the hash of an operation that would be next.
func (c *class) operation(op *sim.Op) uint64 {
	h := hash(c.base, op.Node(), string(op.Kind), op.Name, op.Target, op.Job, op.Phase, strconv.FormatUint(op.Seq, 10), strconv.FormatUint(op.Delivered, 10))
	if !c.apart {
		return hash(h, "all", number(c.sum))
	}
	h = hash(h, "node", number(c.nodes[op.Node()]))
	for _, u := range op.Uses() {
		t := c.things[u.What]
		h = hash(h, u.What, number(t.changed))
		if u.Changes {
			h = hash(h, "looks", number(t.looks))
		}
	}
	return h
}

// add lets an operation of that hash happen.
func (c *class) add(op *sim.Op, h uint64) {
	c.sum += h
	if !c.apart {
		return
	}
	c.nodes[op.Node()] = h
	for _, u := range op.Uses() {
		t := c.things[u.What]
		if u.Changes {
			t = thing{changed: h}
		} else {
			t.looks += h
		}
		c.things[u.What] = t
	}
}

// state is the class once the operation of that hash has happened last. What is next depends on both.
func (c *class) state(last uint64) uint64 { return hash(c.sum, "last", number(last)) }

func hash(seed uint64, words ...string) uint64 { return sim.Draw(seed, words[0], words[1:]...) }

func number(n uint64) string { return strconv.FormatUint(n, 36) }
