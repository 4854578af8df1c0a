package invariants

// What holds of sagas (seed 003, section 4).
var sagaInvariants = []Invariant{}

// SagaConfig are the settings of it that promises depend on.
type SagaConfig struct{}
