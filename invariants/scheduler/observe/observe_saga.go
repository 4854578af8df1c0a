package observe

import (
	"slices"
	"strconv"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// sagaChanged takes in a change of a saga's stack, or of its lock.
func (j *Observer) sagaChanged(s *Step, c *sim.Change) {
	k := &j.Facts.Sagas
	rest := strings.TrimPrefix(c.Key, history.SagaPrefix)
	if workflow, is := strings.CutSuffix(rest, ":stack"); is {
		g := k.of(workflow)
		if !slices.Contains(k.dirty, g) {
			k.dirty, g.before = append(k.dirty, g), len(g.stack)
		}
		i, err := strconv.Atoi(c.Field)
		if g.holds(s.At) == 0 {
			g.stack, g.before = nil, 0
		}
		g.expires = c.Expires
		switch {
		case err != nil:
			g.stack = nil
		case c.Gone:
			g.stack = g.stack[:min(i, len(g.stack))]
		case i < len(g.stack):
			g.stack[i] = c.Value
		default:
			g.stack = append(g.stack, c.Value)
		}
	} else if workflow, is := strings.CutSuffix(rest, ":lock"); is {
		k.locked(s, k.of(workflow), c)
	}
}
