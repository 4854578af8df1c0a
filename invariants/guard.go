package invariants

import (
	"slices"
	"strconv"
	"strings"
	"time"

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
func guardedMessage(s *step, key string) *message {
	place, ok := strings.CutPrefix(key, processedPrefix)
	if !ok {
		place, _ = strings.CutPrefix(key, inflightPrefix)
	}
	stream, number, _ := strings.Cut(place, ":")
	seq, err := strconv.ParseUint(number, 10, 64)
	if s.job == nil || stream != streamSys || err != nil {
		return nil
	}
	return s.job.message(seq)
}

// guardChanged takes in what Redis remembers of a message.
func (j *Judge) guardChanged(s *step, c *sim.Change) {
	m := guardedMessage(s, c.Key)
	if m == nil || c.Gone {
		return
	}
	if strings.HasPrefix(c.Key, processedPrefix) {
		m.guard.until = c.Expires
		return
	}
	me := process(s.Node, s.Incarnation)
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
func (j *Judge) guardAsked(s *step) {
	if s.Phase != "processed_read" {
		return
	}
	m := guardedMessage(s, s.Target)
	if m == nil {
		return
	}
	me := process(s.Node, s.Incarnation)
	if s.failed || s.At >= m.guard.until {
		m.guard.unknown = append(m.guard.unknown, me)
		return
	}
	m.guard.known = append(m.guard.known, me)
	for _, check := range j.again {
		check(s, m)
	}
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

// guarded takes in a delivery or an answer of a message, as far as the guard is concerned.
func (j *Judge) guarded(s *step, m *message, skipped bool) {
	g := &m.guard
	me := process(s.Node, s.Incarnation)
	again := g.again
	g.again = ""
	switch {
	case s.Kind == sim.KindDeliver && g.answered && !j.facts.cfg.IdempotencyGuard:
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
		j.facts.reach(messageSkipped)
	}
	g.answered = g.answered || s.Kind == sim.KindAck
}

// begin notes that a process asks for the job's lock: whatever messages of the job it has, it handles.
func (j *job) begin(me string) {
	for i := range j.messages {
		if g := &j.messages[i].guard; g.again == me {
			g.begun = true
		}
	}
}

var processedMessageNotHandledAgain = Invariant{
	Name:   "processed-message-not-handled-again",
	Says:   "A message whose handling is known to be done is acknowledged and not handled when it is delivered again.",
	Kind:   Always,
	Source: "Scheduler internals, section 9, idempotency guard",
	check: func(_ *facts, t *tally) checker {
		return checker{
			again: func(*step, *message) { t.exercise() },
			twice: func(s *step, m *message) {
				t.violated(s.job, "%s handled message %d of %s at step %d, although its handling was done before", who(s.Event), m.seq, m.consumer, s.Step)
			},
		}
	},
}

var noMessageGivenUp = Invariant{
	Name:   "no-message-given-up",
	Says:   "No request, result or cancellation runs out of deliveries while its job still needs it.",
	Kind:   Always,
	Source: "Scheduler internals, section 9, MaxDeliver; section 8, busy retry",
	Needs:  []string{"lock-released-by-owner-or-expiry"},
	check: func(f *facts, t *tally) checker {
		return checker{
			acked: func(*step, *message) { t.exercise() },
			given: func(j *job, m *message) {
				if m == nil || !j.needs(m) {
					return
				}
				t.violated(j, "message %d of %s was given up after %s, while the job was %s", m.seq, m.consumer,
					countOf(int(m.delivered), "delivery", "deliveries"), j.state)
			},
		}
	},
}

// needs says whether the job still depends on a message of its.
func (j *job) needs(m *message) bool {
	switch m.consumer {
	case consumerSubmit:
		return j.state == pending || j.state == scheduled
	case consumerResult:
		return j.state.inFlight() && m.epoch >= j.epoch
	}
	return j.state != absent && !j.state.terminal()
}

var terminatedMessageHasDLQEntry = Invariant{
	Name:   "terminated-message-has-dlq-entry",
	Says:   "A message that can never be handled has an entry of its own in the DLQ, by its place in the stream, once it was terminated or has run out of deliveries.",
	Kind:   Eventually,
	Source: "Scheduler internals, section 9, DLQ-first termination and MaxDeliver",
	Needs:  []string{"events-agree-with-servers"},
	check: func(f *facts, t *tally) checker {
		return checker{audited: func(*End) {
			for _, j := range f.order {
				for _, at := range j.unrecorded() {
					t.exercise()
					if !f.filed[at] {
						t.violated(j, "%s holds a request for it, but there is neither a record nor %s%s", streamSys, dlqPrefix, at)
					}
				}
			}
		}, ended: func(*End) {
			for _, j := range f.order {
				for _, end := range j.terminated {
					t.exercise()
					if !f.filed[end.place] {
						t.violated(j, "a message of it was terminated at step %d, but %s%s was never written", end.step, dlqPrefix, end.place)
					}
				}
				for i := range j.messages {
					m := &j.messages[i]
					if !m.garbled || !m.abandoned {
						continue
					}
					t.exercise()
					if at := place(m.seq); !f.filed[at] {
						t.violated(j, "a message of it that nobody can read was given up after %s, but %s%s was never written",
							countOf(int(m.delivered), "delivery", "deliveries"), dlqPrefix, at)
					}
				}
			}
		}}
	},
}
