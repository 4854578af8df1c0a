package invariants

import (
	"time"
)

// ViolationsMax is how many violations of one invariant a report describes, within its promise and again
// outside it. Further ones are counted.
const ViolationsMax = 100

// Report is the judgement of one run.
type Report struct {
	Invariants []Outcome // in the order of all invariants
	InTime     bool      // from the End
}

// Outcome is the judgement of one invariant.
type Outcome struct {
	Invariant
	Exercised  int          // how often there was something to judge; for a Sometimes, how often it was reached
	Promised   int          // violations within the promise
	Unpromised int          // violations outside it
	Stopped    int          // judgements not made because an invariant that this one needs was violated before
	Unprovided bool         // the settings of the run do not provide for it, whatever the faults
	Released   []StrikeKind // the kinds of strike that release it under the settings of the run
	Violations []Violation  // in the order of their steps; at most ViolationsMax within the promise, and as many outside it
	Unlisted   []Unlisted   // the other violations
}

// Unlisted is what is kept of a violation that a report does not describe.
type Unlisted struct {
	Job      string
	Promised bool
}

// Violation is one violation of an invariant.
type Violation struct {
	Invariant string
	Promised  bool   // the settings promise it, and neither a strike that releases it nor a gap has reached the job
	Job       string // empty if it concerns no single job
	Step      int
	At        time.Duration
	Message   string
	Steps     []int        // other steps that it depends on
	Released  []StrikeKind // the kinds of strike that had reached it and release the promise
	InGap     bool         // it falls under what the promise matrix leaves open besides strikes
}

// Tally keeps what the checker of one invariant found.
type Tally struct {
	Outcome
	Place     int    // the invariant's position among all
	StoppedBy Places // the invariants that it needs
	Releases  Kinds  // the strikes that release the promise of this run
	Gap       bool   // its row declares a gap
}

// Violated notes a violation, with what had struck it by then, and says whether it is within the promise.
func (t *Tally) Violated(v Violation, strikes Vocabulary, struck Kinds, format string, args ...any) bool {
	v.Promised = !t.Unprovided && struck&t.Releases == 0 && (!v.InGap || !t.Gap)
	n := &t.Unpromised
	if v.Promised {
		n = &t.Promised
	}
	if *n++; *n > ViolationsMax {
		t.Unlisted = append(t.Unlisted, Unlisted{v.Job, v.Promised})
		return v.Promised
	}
	said := Say(format, args...)
	v.Invariant, v.Message, v.Steps, v.Released = t.Name, said.Text, said.Steps, strikes.List(struck&t.Releases)
	if v.Job != "" {
		v.Message = v.Job + ": " + v.Message
	}
	t.Violations = append(t.Violations, v)
	return v.Promised
}
