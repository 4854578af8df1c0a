package sim

import (
	"cmp"
	"strings"
	"time"
)

// Op is one operation of one process, parked at its gate until the stepper grants it.
type Op struct {
	Kind   Kind
	Name   string // the Redis command, the API call, the control's verb
	Target string // the first key, the subject, the stream and consumer
	Tags
	Occurrence int    // its number among the granted operations with the same (Job, Phase, Write), set by the grant; 0 without a phase
	Priority   uint64 // drawn when it parks, keyed by what it is; a strategy may use it
	Message           // zero for an operation that concerns no message

	Write     bool          // it changes the outside world, as a SET does and a GET does not
	scheduled bool          // ready was set, not drawn: the operation then goes first
	withdrawn bool          // nobody waits for it any more
	ready     time.Duration // the earliest instant at which it may be granted
	after     time.Duration // added to its drawn delay
	since     int           // how many steps had been taken when it parked
	step      int           // its number, once it is granted

	world   *World
	process *Process // nil for the harness itself
	call    call     // what it asks; nil if the fields above say it all
	asked   string   // for a gRPC call: its request, as its event has it
	of      *Op      // for a return: the operation whose caller goes on

	consumer  string       // for a message that is delivered or acknowledged: its stream and consumer; for one that is received: the subscription's subject
	redeliver func() error // for a delivery: makes the server deliver the message once more

	// wake lets the caller go on: the operation is granted or, if not alive, its process is dead.
	wake func(alive bool)

	fault    string
	outcome  string
	refused  bool // by the external system that [Process.Do] asks
	returned *Op  // the step by which its caller goes on, if it is another one
}

// Message describes the message that an operation concerns.
type Message struct {
	Seq       uint64        // its sequence in the stream
	Delivered uint64        // how many times it was delivered
	Answers   int           // the step of the delivery that an ack, nak, term or progress answers; Delivered does not identify it, since a server that has lost its state reuses those numbers
	Delay     time.Duration // for a nak: how long the server is to withhold the message
	Data      string        // the data of a core message that is received, or of the answer to a gRPC call
}

// Node is the name of the node that runs the operation; it is empty for the harness itself.
func (op *Op) Node() string {
	if op.process == nil {
		return ""
	}
	return op.process.node.name
}

// compare orders operations by their descriptions.
func (op *Op) compare(o *Op) int {
	order := cmp.Or(
		strings.Compare(op.Node(), o.Node()),
		strings.Compare(string(op.Kind), string(o.Kind)),
		strings.Compare(op.Name, o.Name),
		strings.Compare(op.Target, o.Target),
		strings.Compare(op.Job, o.Job),
		strings.Compare(op.Phase, o.Phase),
		cmp.Compare(op.Seq, o.Seq),
	)
	if order != 0 {
		return order
	}
	order = cmp.Or(cmp.Compare(op.Delivered, o.Delivered), strings.Compare(op.consumer, o.consumer), strings.Compare(op.Data, o.Data))
	switch {
	case order != 0:
		return order
	case op.call != nil && o.call != nil:
		return op.call.compare(o.call)
	case op.of != nil && o.of != nil:
		return op.of.compare(o.of)
	}
	return 0
}

// Actor identifies who does an operation: a node and the job that it works for, or the node alone. Goroutines
// of one node that work on one job cannot be told apart, so they are one actor.
type Actor struct{ Node, Job string }

// Actor returns the actor of the operation.
func (op *Op) Actor() Actor { return Actor{op.Node(), op.Job} }

// String returns the node's name, followed by a slash and the job if there is one.
func (a Actor) String() string {
	if a.Job == "" {
		return a.Node
	}
	return a.Node + "/" + a.Job
}

// Process is the process that runs the operation; it is nil for the harness itself.
func (op *Op) Process() *Process { return op.process }

// Refused says whether the operation was refused by the external system that [Process.Do] stands for.
func (op *Op) Refused() bool { return op.refused }

// World returns the operation's world.
func (op *Op) World() *World { return op.world }

// Fault notes in the trace what an [Intercept] did, in the plan's word. The note is in the operation's step
// or, if the operation has blocked, in the step by which its caller goes on.
func (op *Op) Fault(word string) {
	op.fault = word
	if op.returned != nil {
		op.returned.fault = word
	}
}

// Redeliver makes nats-server deliver a message once more, at once, after the operation that delivers it. An
// [Intercept] calls it. There is no second delivery if the message is acknowledged before a consumer asks for
// it. For other operations Redeliver does nothing.
func (op *Op) Redeliver() error {
	if op.redeliver == nil {
		return nil
	}
	return op.redeliver()
}
