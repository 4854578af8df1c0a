package observe

import (
	"slices"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/model"
	"github.com/wavetank-sim/wavetank/sim"
)

// guardChanged notes what Redis remembers of a message.
func (o *Observer) guardChanged(s *model.Step, c *sim.Change, what history.What, m *model.Message) {
	if m != nil && what == history.Inflight {
		o.Facts.InFlight(s, c, m)
	}
	if m == nil || c.Gone {
		return
	}
	if what == history.Processed {
		if o.Facts.OfLost(m, c.Value) {
			m.Guard.Until = 0
			return
		}
		m.Guard.Until, m.Guard.For, m.Guard.Handled, m.Guard.ToCome = c.Expires, c.Expires-s.At, s.About.State, s.About.ApprovalToCome(m)
		return
	}
	me := invariants.Process(s.Node, s.Incarnation)
	if i := slices.Index(m.Guard.Unknown, me); i >= 0 { // if there are several deliveries at once, one that asked before
		m.Guard.Unknown = slices.Delete(m.Guard.Unknown, i, i+1)
		return
	}
	if m.Guard.Skips(me) { // in flight, although it was handled
		for _, check := range o.hooks.Twice {
			check(s, m)
		}
	}
}

// guardAsked notes that a process asks whether a message was handled, or that Redis refuses to store that it
// was.
func (o *Observer) guardAsked(s *model.Step) {
	_, place := history.KeyOf(s.Target)
	m := model.GuardedMessage(s, place)
	if m == nil {
		return
	}
	if s.Phase != "processed_read" {
		m.Guard.Refuses(s)
		return
	}
	me := invariants.Process(s.Node, s.Incarnation)
	if s.Failed || s.At >= m.Guard.Until {
		m.Guard.Unknown = append(m.Guard.Unknown, me)
		return
	}
	m.Guard.Known = append(m.Guard.Known, me)
	for _, check := range o.hooks.Again {
		check(s, m)
	}
}

// guarded notes a delivery or an answer of a message for the guard.
func (o *Observer) guarded(s *model.Step, m *model.Message, skipped bool) {
	g := &m.Guard
	me := invariants.Process(s.Node, s.Incarnation)
	again := g.Again
	g.Again, g.Skipped = "", skipped
	switch {
	case s.Kind == sim.KindDeliver && g.Answered && !o.Facts.Config.IdempotencyGuard:
		g.Again, g.Begun = me, false
		for _, check := range o.hooks.Again {
			check(s, m)
		}
	case s.Kind == sim.KindDeliver:
	case again == me && g.Begun:
		for _, check := range o.hooks.Twice {
			check(s, m)
		}
	case skipped:
		o.Facts.Reach(model.MessageSkipped)
	}
	g.Answered = g.Answered || s.Kind == sim.KindAck
}
