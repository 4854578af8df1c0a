package phase

// The phases of sagas (seed 003, section 4).
const ()

var sagaPhases = []Phase{}
