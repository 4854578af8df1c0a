package model

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
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
