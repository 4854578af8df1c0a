package phase

// The phases of the output policy (seed 003, section 2).
const ()

var outputPhases = []Phase{}
