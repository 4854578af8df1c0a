package invariants

// What holds of dead-letter triage and replay (seed 004).
var replayInvariants = []Invariant{}

// ReplayConfig are the settings of it that promises depend on.
type ReplayConfig struct{}
