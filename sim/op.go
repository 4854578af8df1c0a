package sim

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Op is one operation of one process, parked at its gate until the stepper grants it.
type Op struct {
	Kind   Kind
	Name   string // the Redis command, the API call, the control's verb
	Target string // the first key, the subject, the stream and consumer
	Tags
	Write      bool   // it changes the outside world, as a SET does and a GET does not
	Seq        uint64 // the stream sequence of the message it is about
	Delivered  uint64 // how many times that message was delivered
	Priority   uint64 // drawn when it parks, by what it is: a strategy may go by it
	Data       string // of the core message that is received, or what a server answered
	Occurrence int    // among operations with the same (Job, Phase, Write), set when it is granted; 0 without a phase

	process *Process // nil for the harness, and for what has left its sender
	sender  *Process // of a late one
	world   *World
	ready   time.Duration // the earliest instant it may be granted at
	touched []touch       // what it may change in Redis
	ttls    []string      // the keys whose TTL it uses
	args    []any         // of its Redis commands
	replies int           // that Redis gives them
	copied  func() send   // copies the message that it publishes

	grant     chan struct{} // receives when the op is granted or its process is dead
	fire      func()        // instead of a grant: run by the stepper (timers, controls)
	letGo     func()        // of a timer: wakes who waits for it, once the process is dead
	withdrawn bool          // a timer that was stopped while it was parked

	applied bool
	refused bool // by the server, which changed nothing by its name
	fault   string
	outcome string
}

// Node is the name of the node that runs the operation; empty for the harness itself.
func (op *Op) Node() string {
	if p := op.by(); p != nil {
		return p.node.name
	}
	return ""
}

// by is whose operation it is.
func (op *Op) by() *Process {
	if op.process == nil {
		return op.sender
	}
	return op.process
}

// Process is the process that runs the operation; nil for the harness itself.
func (op *Op) Process() *Process { return op.process }

// World is the world that the operation belongs to.
func (op *Op) World() *World { return op.world }

// Fault notes in the trace what an [Intercept] did, in the plan's word.
func (op *Op) Fault(word string) { op.fault = word }

// Return parks once more before an operation that blocked gives its caller err, so that the caller
// wakes by a step of its own. An Intercept that waits for a deadline ends with it.
func (op *Op) Return(err error) error {
	back := &Op{Kind: KindReturn, Name: cmp.Or(op.Name, string(op.Kind)), Target: op.Target, Tags: op.Tags, process: op.process, world: op.world, fault: op.fault}
	op.world.park(back)
	back.finish(err)
	return err
}

// Hold notes what came of an operation that had its effect, and parks once more: its caller learns of
// it by a step of its own, whenever that comes. An Intercept that pauses the node ends with it.
func (op *Op) Hold(err error) error {
	op.finish(err)
	op.world.park(&Op{Kind: KindReturn, Name: cmp.Or(op.Name, string(op.Kind)), Target: op.Target, process: op.process, world: op.world, outcome: op.outcome})
	return err
}

func (op *Op) finish(err error) { op.outcome = outcome(err) }

// compare orders operations that arrived in one settling by what they are, since the order in
// which their goroutines ran is the Go scheduler's.
func (op *Op) compare(o *Op) int {
	return cmp.Or(
		strings.Compare(op.Node(), o.Node()),
		strings.Compare(string(op.Kind), string(o.Kind)),
		strings.Compare(op.Name, o.Name),
		strings.Compare(op.Target, o.Target),
		strings.Compare(op.Job, o.Job),
		strings.Compare(op.Phase, o.Phase),
		cmp.Compare(op.Seq, o.Seq),
		slices.CompareFunc(op.args, o.args, func(a, b any) int { return strings.Compare(text(a), text(b)) }),
	)
}

// Intercept stands between a granted operation and its effect. It calls apply, which has the
// effect, zero or more times, and returns what the caller is to see.
type Intercept func(ctx context.Context, op *Op, apply func() error) error

// do is the gate that every operation of a process goes through: it parks, waits for its grant,
// and then has its effect under the eyes of the world's Intercept.
func (p *Process) do(ctx context.Context, op *Op, apply func() error) error {
	op.process, op.world = p, p.node.world
	op.world.park(op)
	err := ctx.Err()
	switch intercept := op.world.cfg.Intercept; {
	case err != nil: // the caller's deadline passed on the way: the operation never arrived
	case intercept == nil:
		op.applied = true
		err = apply()
	default:
		err = intercept(ctx, op, func() error {
			op.applied = true
			return apply()
		})
	}
	p.exitIfDead()
	op.finish(err)
	return err
}

// Do runs an operation of the service's own kind, such as a call to an external system, as a step
// of the world. ctx gives its tags.
func (p *Process) Do(ctx context.Context, kind Kind, name, target string, apply func() error) error {
	w := p.node.world
	return p.do(ctx, &Op{Kind: kind, Name: name, Target: target, Tags: w.tags(ctx), Write: true}, apply)
}

// park blocks until op is granted. A dead process's goroutine ends here, its deferred calls
// included: they can do no I/O.
func (w *World) park(op *Op) {
	if w.cfg.Ungated {
		op.process.exitIfDead()
		w.mu.Lock()
		w.steps++
		w.mu.Unlock()
		return
	}
	op.grant = make(chan struct{}, 1)
	w.mu.Lock()
	if op.process.dead {
		w.mu.Unlock()
		runtime.Goexit()
	}
	w.arrivals = append(w.arrivals, op)
	w.mu.Unlock()
	w.wakeUp()
	<-op.grant
	op.process.exitIfDead()
}

// enqueue lets op arrive without a goroutine that waits for it.
func (w *World) enqueue(op *Op) {
	op.world = w
	w.mu.Lock()
	w.arrivals = append(w.arrivals, op)
	w.mu.Unlock()
	w.wakeUp()
}

func (w *World) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
