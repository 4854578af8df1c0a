package observe

import (
	"slices"
	"strconv"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

// sagaStacked notes a change of a saga's stack.
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

// sagaLocked notes a change of the lock of a rollback. The process that fails a job for good begins at once,
// and continues until nothing is left. So a reconciler that finds something that was due by then has done the
// work of another process.
func (o *Observer) sagaLocked(s *model.Step, g *model.Saga, c *sim.Change) {
	f := o.Facts
	if !c.Gone && !s.Rewinds() && c.Value != g.Lock.Token && g.Due != 0 && g.Left(s.At) {
		for _, check := range o.hooks.RolledOn {
			check(s, g, f.Reconciled(g))
		}
		if f.LeftAlone(g) {
			o.rescue(s, g.Of, "reconciler")
		}
	}
	f.SagaLocked(s, g, c)
}
