package scenarios

import (
	"math"
	"time"
)

// line is one sentence of a story, placed by its time.
type line struct {
	at   time.Duration
	step int
	rank int // its order among the lines of one step
	text string
	keep bool     // kept however long the story is
	jobs []string // the jobs that it names

	violates string // the invariant whose violation it tells of
	ends     int    // the step of the strike whose end it tells of
	wrong    bool   // an operation failed, or was late
	turn     bool   // a handling begins that is not the job's first
}

// always is a line that every story keeps.
func always(at time.Duration, step, rank int, text string, jobs ...string) line {
	return line{at: at, step: step, rank: rank, text: text, keep: true, jobs: jobs}
}

// lastStep sorts after every step of the same time.
const lastStep = math.MaxInt

// In one step, the strike on its operation comes first, and the violations last.
const (
	rankStrike = iota
	rankMoment
	rankAfter
	rankViolation
)
