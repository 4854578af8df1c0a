package phase

// The phases of dead-letter triage and replay (seed 004).
const ()

var replayPhases = []Phase{}
