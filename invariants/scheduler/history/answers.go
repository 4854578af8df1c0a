package history

import (
	"context"
	"strings"

	"github.com/wavetank-sim/wavetank/faults"
	"github.com/wavetank-sim/wavetank/sim"
)

// Answer is what the caller of an operation was told.
type Answer int

// The answers.
const (
	Done      Answer = iota // it was done, or there was nothing to find
	Waits                   // nothing yet: it blocks in a server
	Declined                // it was not done, since a condition that the caller had set does not hold
	Cancelled               // nothing: the caller has cancelled it
	Failed                  // an error
)

// Failed says whether the caller cannot rely on the operation.
func (a Answer) Failed() bool { return a >= Cancelled }

// Messages of a server that declines: the stream already holds a message with that subject, the watched keys
// of a MULTI have changed, or a script must be sent in full.
const (
	WrongSequence     = "err_code=10071"
	TransactionFailed = "redis: transaction failed"
	ScriptUnknown     = "NOSCRIPT"
	EffectHad         = "its effect was had already" // from the workers' sink, which knows the idempotency key
)

// AnswerOf is the only definition of a failed operation.
func AnswerOf(e *sim.Event) Answer {
	switch e.Outcome {
	case sim.OutcomeOK, sim.OutcomeNil:
		return Done
	case sim.OutcomePending:
		return Waits
	case TransactionFailed, EffectHad:
		return Declined
	case context.Canceled.Error():
		if e.Fault == "" {
			return Cancelled
		}
	}
	if strings.HasPrefix(e.Outcome, ScriptUnknown) || strings.Contains(e.Outcome, WrongSequence) {
		return Declined
	}
	return Failed
}

// Applied says whether an operation reached its server, whatever its caller was told.
func Applied(e *sim.Event) bool {
	switch faults.Effect(e.Fault) {
	case faults.FailBefore, faults.Hang, faults.Late, faults.Lose, faults.Partition:
		return false
	case "": // nobody answers a nak or a term, and an ack to be confirmed is sent again, so an error means that it was not sent
		return e.Kind != sim.KindAck && e.Kind != sim.KindNak && e.Kind != sim.KindTerm || !AnswerOf(e).Failed()
	}
	return true
}

// AlreadyStored says whether the stream declined a publish because it holds a message of its epoch.
func AlreadyStored(e *sim.Event) bool {
	return e.Kind == sim.KindPublish && strings.Contains(e.Outcome, WrongSequence)
}
