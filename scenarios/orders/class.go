package orders

import (
	"strconv"

	"github.com/wavetank-sim/wavetank/sim"
)

// class is a hash of what has happened so far in a run, without the order of independent operations: the
// happens-before hash of Musuvathi and Qadeer's CHESS. Two runs with equal classes are in equal states.
//
// An operation comes after what its node did before. It also comes after earlier operations on whatever it
// uses: all of them if it changes that, and those that changed it if it only reads. The hash of an operation
// covers itself and those. The class is the sum of the operations' hashes, so it does not depend on their
// order.
type class struct {
	apart  bool // independent operations are distinguished from dependent ones
	step   int  // the last step
	sum    uint64
	base   uint64 // of all before the harness's last step, on which everything depends
	nodes  map[string]uint64
	things map[string]thing
}

// thing is the last operations on something that operations use.
type thing struct {
	changed uint64 // the last operation that changed it
	looks   uint64 // the sum of the operations that have read it since
}

func newClass(apart bool) *class {
	return &class{apart: apart, nodes: map[string]uint64{}, things: map[string]thing{}}
}

// begin is called at each step that is chosen. A missing step was the harness's own, and everything later
// comes after everything before it.
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

// operation is the hash of an operation if it were next.
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

// add notes that an operation with that hash happens.
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

// state is the hash of the class and of the last operation. What comes next depends on both.
func (c *class) state(last uint64) uint64 { return hash(c.sum, "last", number(last)) }

func hash(seed uint64, words ...string) uint64 { return sim.Draw(seed, words[0], words[1:]...) }

func number(n uint64) string { return strconv.FormatUint(n, 36) }
