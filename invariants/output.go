package invariants

// What holds of the output policy (seed 003, section 2).
var outputInvariants = []Invariant{}

// OutputConfig are the settings of it that promises depend on.
type OutputConfig struct{}
