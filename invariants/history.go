package invariants

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/wavetank-sim/wavetank/sim"
)

// Answer is what the caller of an operation was told of it.
type Answer int

// The answers.
const (
	Done      Answer = iota // it was done, or there was nothing to find
	Waits                   // nothing yet: it blocks in a server
	Declined                // it was not done, since a condition that the caller had set does not hold
	Cancelled               // nothing: the caller wants it no more
	Failed                  // an error
)

// Failed says whether the caller cannot count on the operation.
func (a Answer) Failed() bool { return a >= Cancelled }

// What a server says that declines: the stream holds a message of that subject already, a MULTI's watched keys have
// changed, a script has to be sent whole.
const (
	wrongSequence     = "err_code=10071"
	transactionFailed = "redis: transaction failed"
	scriptUnknown     = "NOSCRIPT"
)

// AnswerOf is the one definition of a failed operation.
func AnswerOf(e *sim.Event) Answer {
	switch e.Outcome {
	case sim.OutcomeOK, sim.OutcomeNil:
		return Done
	case sim.OutcomePending:
		return Waits
	case transactionFailed:
		return Declined
	case context.Canceled.Error():
		if e.Fault == "" {
			return Cancelled
		}
	}
	if strings.HasPrefix(e.Outcome, scriptUnknown) || strings.Contains(e.Outcome, wrongSequence) {
		return Declined
	}
	return Failed
}

// Stored says whether the stream declined a publish because it holds a message of its epoch.
func Stored(e *sim.Event) bool {
	return e.Kind == sim.KindPublish && strings.Contains(e.Outcome, wrongSequence)
}

// Fenced is a state write that was not made, since record or lock had changed since its writer looked.
type Fenced struct {
	Step  int // that showed it to the writer
	Job   string
	Phase string
}

// Fenced returns the last one.
func (j *Judge) Fenced() Fenced { return j.facts.fenced }

// CircuitOpen says whether the node's calls of the safety kernel are being held back.
func (j *Judge) CircuitOpen(node string) bool {
	for _, c := range slices.Backward(j.facts.policy.changes) {
		if c.Node == node && c.Circuit == circuitNames[circuitSafety] {
			return c.State != closed
		}
	}
	return false
}

var stepsNamed = regexp.MustCompile(`steps? (\d+(?:(?:, | and )\d+)*)`)

// stepList names steps as stepsIn finds them.
func stepList(steps []int) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(steps), " ", ", "), "[]") }

// stepsIn lists the steps that a violation's message names: it depends on them.
func stepsIn(message string) (steps []int) {
	for _, named := range stepsNamed.FindAllStringSubmatch(message, -1) {
		for _, digits := range strings.FieldsFunc(named[1], func(r rune) bool { return r < '0' || r > '9' }) {
			n, _ := strconv.Atoi(digits)
			steps = append(steps, n)
		}
	}
	return steps
}
