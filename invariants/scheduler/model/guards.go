package model

import (
	"slices"
	"strconv"
	"time"

	"github.com/wavetank-sim/wavetank/invariants"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/sim"
)

// guard is what is known of whether a message was handled already.
type guard struct {
	Until    time.Duration // when Redis forgets that it was handled; 0 if Redis does not know
	For      time.Duration // how long after Redis was told; 0 if it was not, and less than 0 if it never forgets
	Refused  bool          // Redis has refused to store it
	Handled  State         // the job's state when Redis was told
	ToCome   bool          // an approval was still to come then, by another request
	Skipped  bool          // its last answer came after Redis knew
	Answered bool          // a scheduler acknowledged it, whether or not the stream knows
	Known    []string      // processes that were told that it was handled, once for each delivery that they have yet to acknowledge
	Unknown  []string      // processes that were told that it was not, or nothing, once for each handling that they have yet to begin
	Again    string        // without a guard: the process to which it was redelivered
	Begun    bool          // that process has asked for the job's lock since
	inFlight mark          // that it is being handled
	kept     bool          // Redis has refused to let that go
}

// mark says that a message is in flight. The zero mark is none.
type mark struct {
	by    string // the process that set it last
	step  int
	since int           // the failovers of Redis that there had been: the next may take it
	until time.Duration // 0 is for ever
}

// Refuses takes in whether Redis refuses what a process notes of the message.
func (g *guard) Refuses(s *Step) {
	g.Refused = g.Refused || s.Phase == "processed_write" && s.Failed
	g.kept = g.kept || s.Failed
}

// InFlight takes in a change of the mark that says so of the message.
func (f *Facts) InFlight(s *Step, c *sim.Change, m *Message) {
	if m.Guard.inFlight = (mark{}); !c.Gone {
		m.Guard.inFlight = mark{invariants.Process(s.Node, s.Incarnation), s.Step, f.failovers, c.Expires}
	}
}

// LeftInFlight says whether the process that answers the message has left the mark that it is in flight, and may have deleted it.
func (f *Facts) LeftInFlight(s *Step, m *Message) bool {
	is, mine := &m.Guard.inFlight, false
	for _, d := range m.deliveries {
		if mine = mine || d.step == s.Answers; d.process == is.by && d.end == "" {
			return false // it has the message in hand once more
		}
	}
	return mine && !m.Guard.kept && is.by == invariants.Process(s.Node, s.Incarnation) && is.step > s.Answers && is.since == f.failovers && (is.until == 0 || s.At < is.until)
}

// OfLost says whether a mark that a message was handled is about a message that had its sequence before, and that
// the stream has lost. The mark is the time in nanoseconds at which the stream stored its message.
func (f *Facts) OfLost(m *Message, mark string) bool {
	stored, err := strconv.ParseInt(mark, 10, 64)
	return err == nil && m.Seq <= f.reused[history.StreamSys] && time.Unix(0, stored).Sub(f.Workflow.Began) < m.Stored-Slack
}

// Skips says whether a process was told of a delivery that its message was handled, and removes one such
// delivery. If there are several, it does not matter which.
func (g *guard) Skips(me string) bool {
	i := slices.Index(g.Known, me)
	if i >= 0 {
		g.Known = slices.Delete(g.Known, i, i+1)
	}
	return i >= 0
}

// Guards says whether Redis must know that the message was handled, now that the step acknowledges it. A
// process that acknowledges a message with the sequence of a lost one may have handled the lost one.
func (f *Facts) Guards(s *Step, m *Message) bool {
	return f.Config.IdempotencyGuard && m != nil && !m.Guard.Refused && m.Seq > f.reused[history.StreamSys] &&
		slices.ContainsFunc(m.deliveries, func(d delivery) bool { return d.step == s.Answers })
}

// Begin notes that a process asks for the job's lock, to handle whatever messages of the job it has.
func (j *Job) Begin(me string) {
	for i := range j.Messages {
		if g := &j.Messages[i].Guard; g.Again == me {
			g.Begun = true
		}
	}
}
