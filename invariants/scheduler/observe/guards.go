package observe

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
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
