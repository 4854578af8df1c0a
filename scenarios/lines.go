package scenarios

import (
	"math"
	"time"
)

// line is one sentence of a story, which has its place by a time.
type line struct {
	at   time.Duration
	step int
	rank int // among those of one step
	text string
	keep bool     // however long the story is
	jobs []string // that it names

	violates string // the invariant whose violation it tells of
	ends     int    // the step of the strike whose end it tells of
	wrong    bool   // an operation failed, or was late
	turn     bool   // a handling begins by it that is not a job's first
}

// always is a line that no story leaves out.
func always(at time.Duration, step, rank int, text string, jobs ...string) line {
	return line{at: at, step: step, rank: rank, text: text, keep: true, jobs: jobs}
}

// lastStep is after every step of a time.
const lastStep = math.MaxInt

// Of one step, what struck its operation comes first, and what it broke last.
const (
	rankStrike = iota
	rankMoment
	rankAfter
	rankViolation
)
