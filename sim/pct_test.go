package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// toy is a world of nothing but the order of what its actors do: each has its operations, one after the other.
type toy map[string][]string

// play lets the strategy choose until nobody has anything left to do, and returns who did what.
func (actors toy) play(s Strategy, seed uint64) (order []string) {
	w, done, parked := &World{}, map[string]int{}, map[string]*Op{}
	for {
		var ready []*Op
		for name, ops := range actors {
			if done[name] == len(ops) {
				continue
			}
			if parked[name] == nil {
				parked[name] = &Op{Name: ops[done[name]], Priority: Draw(seed, name, fmt.Sprint(done[name])), since: w.steps, world: w, process: &Process{node: &Node{name: name}}}
			}
			ready = append(ready, parked[name])
		}
		if len(ready) == 0 {
			return order
		}
		slices.SortFunc(ready, (*Op).compare)
		op := ready[s.Pick(ready)]
		order = append(order, op.Node()+"."+op.Name)
		done[op.Node()]++
		parked[op.Node()] = nil
		w.steps++
	}
}

// steps is how many operations the toy has.
func (actors toy) steps() (n int) {
	for _, ops := range actors {
		n += len(ops)
	}
	return n
}

func first(order []string, a, b string) bool { return slices.Index(order, a) < slices.Index(order, b) }

// The theorem of the paper, on bugs of depth 1, 2 and 3 between two actors, beside others that have no part in them.
func TestPCTFindsBugsAtLeastAsOftenAsItsBound(t *testing.T) {
	const seeds = 20_000
	rest := strings.Fields("1 2 3 4")
	for _, c := range []struct {
		depth  int
		says   string
		actors toy
		broken func(order []string) bool
	}{
		{1, "a value is used before it is set", toy{"a": {"set"}, "b": {"use"}, "c": rest, "d": rest}, func(o []string) bool { return first(o, "b.use", "a.set") }},
		{2, "an update is lost", toy{"a": {"1", "read", "write", "2"}, "b": {"1", "read", "write", "2"}, "c": rest}, func(o []string) bool {
			return first(o, "a.read", "b.write") && first(o, "b.read", "a.write")
		}},
		{3, "a change and its reversal go unseen", toy{"a": {"1", "look", "use", "2"}, "b": {"1", "take", "give", "2"}, "c": rest}, func(o []string) bool {
			return first(o, "b.take", "a.look") && first(o, "a.use", "b.give") && first(o, "a.1", "b.1")
		}},
	} {
		found, k := 0, c.actors.steps()
		for seed := range uint64(seeds) {
			s := NewPCT(seed, c.depth-1, k)
			if c.broken(c.actors.play(s, seed)) {
				found++
			}
			require.Equal(t, len(c.actors), s.Actors())
		}
		bound := Bound(len(c.actors), k, c.depth-1)
		assert.GreaterOrEqual(t, float64(found)/seeds, bound, c.says)
		t.Logf("depth %d, %s: %d of %d runs, bound %.4f", c.depth, c.says, found, seeds, bound)
	}
}

// Without change points an actor is only ever passed by one of a higher priority, and here all are there from the start.
func TestPCTWithoutChangePointsLetsEachActorFinish(t *testing.T) {
	actors := toy{"a": strings.Fields("1 2 3"), "b": strings.Fields("1 2 3"), "c": strings.Fields("1 2 3")}
	firsts := map[string]int{}
	for seed := range uint64(100) {
		order := actors.play(NewPCT(seed, 0, actors.steps()), seed)
		firsts[order[0]]++
		for i, step := range order {
			assert.Equal(t, order[i-i%3][:1], step[:1], "%v", order)
		}
	}
	assert.Len(t, firsts, 3)
}

// Shrinking lives on it: an actor that is left out moves no others past each other.
func TestPCTWithoutAnActorKeepsTheOrderOfTheOthers(t *testing.T) {
	ops := strings.Fields("1 2 3")
	for seed := range uint64(50) {
		order := toy{"a": ops, "b": ops, "c": ops}.play(NewPCT(seed, 0, 9), seed)
		rest := slices.DeleteFunc(slices.Clone(order), func(step string) bool { return step[:1] == "b" })
		assert.Equal(t, rest, toy{"a": ops, "c": ops}.play(NewPCT(seed, 0, 9), seed))
	}
}

// An actor that always has more to do keeps the others waiting for k steps, and no longer.
func TestPCTIsFairInTheEnd(t *testing.T) {
	busy := strings.Fields(strings.Repeat("again ", 500))
	for seed := range uint64(50) {
		order := toy{"busy": busy, "patient": {"go"}}.play(NewPCT(seed, 0, 100), seed)
		assert.Less(t, slices.Index(order, "patient.go"), 250, "seed %d", seed)
	}
}

func TestBound(t *testing.T) {
	assert.InDelta(t, 1.0/4, Bound(4, 100, 0), 0)
	assert.InDelta(t, 1.0/40_000, Bound(4, 100, 2), 1e-12)
	assert.InDelta(t, 1.0, Bound(0, 0, 3), 0, "a run of nothing")
}
