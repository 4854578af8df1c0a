package model

import (
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
)

// guard is what is known of whether a message was handled already.
type guard struct {
	Until    time.Duration // when Redis forgets that it was; 0 if Redis does not know
	For      time.Duration // how long after it was told so; 0 if it was not, and less if it never forgets
	Refused  bool          // Redis has refused to note it
	Handled  State         // of the job, when Redis was told that it was
	ToCome   bool          // an approval was to come then, by another request
	Skipped  bool          // its last answer came since Redis knew
	Answered bool          // a scheduler acknowledged it, whether the stream knows or not
	Known    []string      // processes that were told that it was handled, once for each delivery that they have yet to acknowledge
	Unknown  []string      // processes that were told that it was not, or nothing, once for each handling they have yet to begin
	Again    string        // without a guard: the process to which it was delivered again
	Begun    bool          // which has asked for the job's lock since
}

// Skips says whether a process was told of a delivery that its message was handled, and takes one such off. Of several
// at once it does not matter which.
func (g *guard) Skips(me string) bool {
	i := slices.Index(g.Known, me)
	if i >= 0 {
		g.Known = slices.Delete(g.Known, i, i+1)
	}
	return i >= 0
}

// Guards says whether Redis is to know of the message that it was handled, now that the step acknowledges it. Whoever
// acknowledges what has the place of a lost message may have handled that one.
func (f *Facts) Guards(s *Step, m *Message) bool {
	return f.Config.IdempotencyGuard && m != nil && !m.Guard.Refused && m.Seq > f.reused[history.StreamSys] &&
		slices.ContainsFunc(m.deliveries, func(d delivery) bool { return d.step == s.Answers })
}

// Begin notes that a process asks for the job's lock: whatever messages of the job it has, it handles.
func (j *Job) Begin(me string) {
	for i := range j.Messages {
		if g := &j.Messages[i].Guard; g.Again == me {
			g.Begun = true
		}
	}
}
