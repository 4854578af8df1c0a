package observe

import (
	"slices"
	"strconv"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

// sagaStacked takes in a change of a saga's stack.
func (o *Observer) sagaStacked(s *model.Step, c *sim.Change, g *model.Saga) {
	k := &o.Facts.Sagas
	if !slices.Contains(k.Dirty, g) {
		k.Dirty, g.Before = append(k.Dirty, g), len(g.Stack)
	}
	i, err := strconv.Atoi(c.Field)
	if g.Holds(s.At) == 0 {
		g.Stack, g.Before = nil, 0
	}
	g.Expires = c.Expires
	switch {
	case err != nil:
		g.Stack = nil
	case c.Gone:
		g.Stack = g.Stack[:min(i, len(g.Stack))]
	case i < len(g.Stack):
		g.Stack[i] = c.Value
	default:
		g.Stack = append(g.Stack, c.Value)
	}
}
