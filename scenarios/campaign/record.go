package campaign

import (
	"fmt"
	"slices"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios"
)

// Record is what a campaign keeps of one run: a line of its journal.
type Record struct {
	N         int               `json:"n"`                   // the number of the run, from 0
	Verdict   scenarios.Verdict `json:"verdict"`             // empty if Contained
	Reason    string            `json:"reason,omitempty"`    // for an inconclusive run
	Digest    string            `json:"digest"`              //
	Steps     int               `json:"steps"`               //
	Virtual   time.Duration     `json:"virtual_ns"`          //
	Broken    []Broken          `json:"broken,omitempty"`    // broken promises, each invariant once
	Outside   []Outside         `json:"outside,omitempty"`   // invariants broken outside their promises, each once
	Unjudged  []string          `json:"unjudged,omitempty"`  // invariants that were not judged, at least for some job, because one that they depend on was violated
	Exercised []string          `json:"exercised,omitempty"` // invariants that had something to judge, and situations that were reached
	Drawn     []string          `json:"drawn,omitempty"`     // kinds of fault in the plan, as FaultKind writes them
	Fired     []string          `json:"fired,omitempty"`     // those that took effect
	Missed    []int             `json:"missed,omitempty"`    // indices of the plan's faults that never took effect
	Settings  []string          `json:"settings,omitempty"`  // settings in which the plan differs from its preset: those of engine and world with how they differ, the others by name
	Measures  Measures          `json:"measures,omitempty"`  // for a run of a grid
	Contained *Contained        `json:"contained,omitempty"` // the code under test ended its process
}

// check returns an error if a stored record is invalid. all are the campaign's runs, and done those already
// read.
func (r *Record) check(all span, done set) error {
	switch {
	case !all.has(r.N):
		return fmt.Errorf("the campaign has no run %d", r.N)
	case done.has(r.N):
		return fmt.Errorf("run %d occurs twice", r.N)
	case !r.agrees():
		return fmt.Errorf("run %d does not agree with itself: verdict %q, %d broken promises, %d steps", r.N, r.Verdict, len(r.Broken), r.Steps)
	}
	return nil
}

// agrees says whether the record's fields are consistent.
func (r *Record) agrees() bool {
	if r.Contained != nil {
		return r.Verdict == ""
	}
	known := slices.Contains([]scenarios.Verdict{scenarios.Held, scenarios.Violated, scenarios.Inconclusive}, r.Verdict)
	return known && (r.Verdict == scenarios.Violated) == (len(r.Broken) > 0) && r.Steps >= 0 && r.Virtual >= 0
}

// end says how a run ended.
func (r *Record) end() string {
	if c := r.Contained; c != nil && !c.What.repeatsItsStep() {
		return fmt.Sprintf("out of bounds (%s)", c.What)
	} else if c != nil {
		return fmt.Sprintf("out of bounds (%s) at step %d", c.What, c.Step)
	}
	return fmt.Sprintf("%s with digest %s", r.Verdict, r.Digest)
}

// Broken is a promise that a run broke.
type Broken struct {
	Invariant string `json:"invariant"`
	Job       string `json:"job,omitempty"`
	Step      int    `json:"step"` // of the first violation
	Message   string `json:"message"`
}

// Outside is an invariant that a run broke outside its promise.
type Outside struct {
	Invariant  string   `json:"invariant"`
	Unprovided bool     `json:"unprovided,omitempty"` // the settings do not provide for any of it, whatever strikes
	Released   []string `json:"released,omitempty"`   // the kinds of strike that released it, as in [scenarios.Violation]
	InGap      bool     `json:"in_gap,omitempty"`     // some violation was released by no strike, but by what the promise matrix leaves open
	Jobs       []string `json:"jobs,omitempty"`       // the jobs for which it was broken
}

// Containment is a way in which the code under test goes out of bounds, so that its worker process must end.
type Containment string

// The ways out of bounds. A finding names them in place of an invariant.
const (
	Panicked Containment = "no-panic"       // a panic, or a fatal error of the runtime
	Hung     Containment = "no-hang"        // no step for too long, in real time
	Leaked   Containment = "no-leak"        // goroutines outlived their world
	Overgrew Containment = "bounded-memory" // the heap grew past its bound
	Endless  Containment = "bounded-steps"  // it reached schedule.steps_max, which is not below its default
	BrokeOff Containment = "no-breakdown"   // the world itself could not go on
)

// Containments lists the ways out of bounds.
func Containments() []Containment {
	return []Containment{Panicked, Hung, Leaked, Overgrew, Endless, BrokeOff}
}

// Says describes in a sentence what happened.
func (c Containment) Says() string {
	return map[Containment]string{
		Panicked: "the code under test panicked", Hung: "the code under test hung",
		Leaked: "goroutines of the code under test outlived their world", Overgrew: "the heap grew past its bound",
		Endless: "the run used up its steps", BrokeOff: "the world could not go on",
	}[c]
}

// Contained is a run that did not end by itself.
type Contained struct {
	What  Containment `json:"what"`
	Step  int         `json:"step"`            // the last that was completed
	Stack string      `json:"stack,omitempty"` // the part of a stack, a dump or the world's own error that is the same in every process
	Flaky bool        `json:"flaky,omitempty"` // alone in a process, the same plan ended otherwise
}

// Measures are the numbers that sweeps and comparisons use; see [Metrics].
type Measures map[string]float64

// doubtful says whether a run may go out of bounds like that through no fault of the code under test. The
// machine may have been asleep or overloaded, or the process may have done other runs before. It counts only
// if the run does it again alone.
func (c Containment) doubtful() bool { return c == Hung || c == Leaked || c == Overgrew }

// repeatsItsStep says whether a run goes out of bounds like that at the same step each time. What the real
// clock or the heap shows does not repeat its step.
func (c Containment) repeatsItsStep() bool { return c != Hung && c != Overgrew }
