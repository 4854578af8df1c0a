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
	Occurrence int    // among operations with the same (Job, Phase, Write), set when it is granted; 0 without a phase
	Priority   uint64 // drawn when it parks, by what it is: a strategy may go by it
	Message           // zero for an operation that is about no message

	Write     bool          // it changes the outside world, as a SET does and a GET does not
	scheduled bool          // ready is an instant that was set, not drawn: the operation goes first then
	withdrawn bool          // nobody waits for it any more
	ready     time.Duration // the earliest instant it may be granted at
	after     time.Duration // it takes so much longer than is drawn
	since     int           // how many steps had been taken when it parked
	step      int           // its number, once it is granted

	world   *World
	process *Process // nil for the harness itself
	call    call     // what it asks; nil where the operation itself says it all
	asked   string   // of a gRPC call: that, as its event has it
	of      *Op      // of a return: the operation whose caller goes on

	consumer  string       // of a message that is delivered or acknowledged: its stream and consumer; of one that is received, the subscription's subject
	redeliver func() error // of a delivery: has the server deliver the message once more

	// wake lets who waits for the operation go on: it is granted or, if not alive, its process is dead.
	wake func(alive bool)

	fault    string
	outcome  string
	refused  bool // by the external system that [Process.Do] asks
	returned *Op  // the step by which its caller goes on, if it did not with its effect
}

// Message is what an operation on one message says of that message.
type Message struct {
	Seq       uint64        // its sequence in the stream
	Delivered uint64        // how many times it was delivered
	Answers   int           // the step of the delivery that an ack, nak, term or progress answers: a server that has lost its state uses a number of Delivered again
	Delay     time.Duration // of a nak: for how long the server is to keep the message back
	Data      string        // of a core message that is received, or of the answer to a gRPC call
}

// Node is the name of the node that runs the operation; empty for the harness itself.
func (op *Op) Node() string {
	if op.process == nil {
		return ""
	}
	return op.process.node.name
}

// compare orders operations by what they are.
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

// Actor is who does an operation: a node for a job or, of what it does for none, the node. Of goroutines of one node
// that are at work on one job nothing tells which is which, so they are one actor.
type Actor struct{ Node, Job string }

// Actor is who does the operation.
func (op *Op) Actor() Actor { return Actor{op.Node(), op.Job} }

// String is the node's name, with the job's behind a slash.
func (a Actor) String() string {
	if a.Job == "" {
		return a.Node
	}
	return a.Node + "/" + a.Job
}

// Process is the process that runs the operation; nil for the harness itself.
func (op *Op) Process() *Process { return op.process }

// Refused says whether the external system that a process asks by [Process.Do] refused the operation.
func (op *Op) Refused() bool { return op.refused }

// World is the world that the operation belongs to.
func (op *Op) World() *World { return op.world }

// Fault notes in the trace what an [Intercept] did, in the plan's word: in the step of the operation or, if that has blocked, in
// the one by which its caller goes on.
func (op *Op) Fault(word string) {
	op.fault = word
	if op.returned != nil {
		op.returned.fault = word
	}
}

// Redeliver has nats-server deliver once more, at once, the message that a delivery hands over. An [Intercept] calls it.
// Whoever acknowledges the message before a consumer asks for it ends that. For other operations it does nothing.
func (op *Op) Redeliver() error {
	if op.redeliver == nil {
		return nil
	}
	return op.redeliver()
}
