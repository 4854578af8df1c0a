package observe

import (
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// guardChanged takes in what Redis remembers of a message.
func (j *Observer) guardChanged(s *Step, c *sim.Change) {
	m := guardedMessage(s, c.Key)
	if m == nil || c.Gone {
		return
	}
	if strings.HasPrefix(c.Key, history.ProcessedPrefix) {
		m.guard.until = c.Expires
		return
	}
	me := invariants.Process(s.Node, s.Incarnation)
	if i := slices.Index(m.guard.unknown, me); i >= 0 { // of several deliveries at once, one that asked before
		m.guard.unknown = slices.Delete(m.guard.unknown, i, i+1)
		return
	}
	if m.guard.skips(me) { // in flight, although it was handled
		for _, check := range j.twice {
			check(s, m)
		}
	}
}

// guardAsked takes in that a process asks whether a message was handled.
func (j *Observer) guardAsked(s *Step) {
	if s.Phase != "processed_read" {
		return
	}
	m := guardedMessage(s, s.Target)
	if m == nil {
		return
	}
	me := invariants.Process(s.Node, s.Incarnation)
	if s.Failed || s.At >= m.guard.until {
		m.guard.unknown = append(m.guard.unknown, me)
		return
	}
	m.guard.known = append(m.guard.known, me)
	for _, check := range j.again {
		check(s, m)
	}
}

// guarded takes in a delivery or an answer of a message, as far as the guard is concerned.
func (j *Observer) guarded(s *Step, m *Message, skipped bool) {
	g := &m.guard
	me := invariants.Process(s.Node, s.Incarnation)
	again := g.again
	g.again = ""
	switch {
	case s.Kind == sim.KindDeliver && g.answered && !j.Facts.Config.IdempotencyGuard:
		g.again, g.begun = me, false
		for _, check := range j.again {
			check(s, m)
		}
	case s.Kind == sim.KindDeliver:
	case again == me && g.begun:
		for _, check := range j.twice {
			check(s, m)
		}
	case skipped:
		j.Facts.Reach(MessageSkipped)
	}
	g.answered = g.answered || s.Kind == sim.KindAck
}
