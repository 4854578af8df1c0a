package model

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"

	"github.com/wavetank-sim/wavetank/invariants"

	"github.com/wavetank-sim/wavetank/sim"
)

// guard is what is known of whether a message was handled already.
type guard struct {
	until    time.Duration // when Redis forgets that it was; 0 if Redis does not know
	answered bool          // a scheduler acknowledged it, whether the stream knows or not
	known    []string      // processes that were told that it was handled, once for each delivery that they have yet to acknowledge
	unknown  []string      // processes that were told that it was not, or nothing, once for each handling they have yet to begin
	again    string        // without a guard: the process to which it was delivered again
	begun    bool          // which has asked for the job's lock since
}

// guardedMessage returns the message of the step's job that a key of the guard is about, or nil.
func guardedMessage(s *Step, key string) *Message {
	place, ok := strings.CutPrefix(key, history.ProcessedPrefix)
	if !ok {
		place, _ = strings.CutPrefix(key, history.InflightPrefix)
	}
	stream, number, _ := strings.Cut(place, ":")
	seq, err := strconv.ParseUint(number, 10, 64)
	if s.About == nil || stream != history.StreamSys || err != nil {
		return nil
	}
	return s.About.message(seq)
}

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

// skips says whether a process was told of a delivery that its message was handled, and takes one such off. Of several
// at once it does not matter which.
func (g *guard) skips(me string) bool {
	i := slices.Index(g.known, me)
	if i >= 0 {
		g.known = slices.Delete(g.known, i, i+1)
	}
	return i >= 0
}

// begin notes that a process asks for the job's lock: whatever messages of the job it has, it handles.
func (j *Job) begin(me string) {
	for i := range j.Messages {
		if g := &j.Messages[i].guard; g.again == me {
			g.begun = true
		}
	}
}
