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

// Invariant is a criterion by which a run is judged.
type Invariant struct {
	Name     string   // kebab-case; stable, since plans use it
	Says     string   // one sentence
	Kind     Kind     //
	Promise  string   // the faults under which it is promised, in words: whatever the settings or, in a [Report], under the settings of the run
	Source   string   // the paragraph of the documentation that states it
	OnDemand bool     // without settings that provide for it, nearly every run breaks it: it is then judged only on demand
	Quiet    string   // the situation that counts its violations outside the promise, which are violations only on demand; "" for none
	Needs    []string // after a violation of one of these, for a job or for the run, this one is not judged for the same any more, except on demand
}

// End is what the servers and the processes hold when a run ends.
type End struct {
	At      time.Duration                // virtual time since the world began
	InTime  bool                         // the world had its time to settle, and no budget ran out before; otherwise no Eventually is judged
	Redis   map[string]map[string]string // by key: a hash's fields, a sorted set's members with their scores, or a string under ""
	TTLs    map[string]time.Duration     // the remaining TTLs of the keys that expire; only an audit has them, since otherwise events show them
	Streams []sim.Change                 // every message of every stream; nil if they were not read
	Metrics map[string]float64           // by name{label="value"}: counters summed over all processes, gauges over those that are up; nil if there are none to judge
}
