package invariants

import (
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// Kind says when an invariant is judged.
type Kind string

// The kinds of invariant.
const (
	Always     Kind = "always"     // after every step
	Eventually Kind = "eventually" // once the world has settled
	Sometimes  Kind = "sometimes"  // never violated: a situation that a campaign must reach
)

// Invariant is one thing that a run is judged by.
type Invariant struct {
	Name     string   // kebab-case; stable, since plans name it
	Says     string   // one sentence
	Kind     Kind     //
	Promise  string   // the faults under which it is promised, in words: whatever the settings, or in a [Report] under those of the run
	Source   string   // the paragraph of the documentation that it is from
	OnDemand bool     // where the settings do not provide for it, nearly every run breaks it: it is then judged only if somebody asks for it
	Quiet    string   // the situation that counts what it forbids outside of its promise, where that is a violation only if somebody asks; "" for none
	Needs    []string // once one of these is violated for a job, or for the run, this one is not judged there any more, unless somebody asks for it
}

// End is what the servers and the processes hold when a run is over.
type End struct {
	At      time.Duration                // virtual time since the world began
	InTime  bool                         // the world had its time to settle, and no budget ran out before; else no Eventually is judged
	Redis   map[string]map[string]string // every key: a hash's fields, a sorted set's members with their scores, a string under ""
	TTLs    map[string]time.Duration     // what the keys that expire have left; only an audit has it, since events tell
	Streams []sim.Change                 // every message of every stream; nil if they were not read
	Metrics map[string]float64           // summed over the processes, as name{label="value"}, and gauges over those that are up; nil if there are none to judge
}
