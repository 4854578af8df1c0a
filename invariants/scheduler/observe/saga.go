package observe

import (
	"slices"
	"strconv"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

// sagaChanged takes in a change of a saga's stack, or of its lock.
func (o *Observer) sagaChanged(s *model.Step, c *sim.Change) {
	k := &o.Facts.Sagas
	rest := strings.TrimPrefix(c.Key, history.SagaPrefix)
	if workflow, is := strings.CutSuffix(rest, ":stack"); is {
		g := k.Of(workflow)
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
	} else if workflow, is := strings.CutSuffix(rest, ":lock"); is {
		k.Locked(s, k.Of(workflow), c)
	}
}
