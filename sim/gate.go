package sim

import (
	"cmp"
	"context"
	"runtime"
	"time"
)

// Do runs an operation of the service's own kind, such as a call to an external system, as a step
// of the world. ctx gives its tags. That the system refused it is the step's outcome even if the process dies with it: no
// server shows what became of it.
func (p *Process) Do(ctx context.Context, kind Kind, name, target string, apply func() error) error {
	op := &Op{Kind: kind, Name: name, Target: target, Tags: p.node.world.cfg.Tags(ctx), Write: true}
	return p.do(ctx, op, func() error {
		err := apply()
		if err != nil {
			op.refused, op.outcome = true, outcome(err)
		}
		return err
	})
}

// do is the gate that every operation of a process goes through: it parks, waits for its grant,
// and then has its effect under the eyes of the world's Intercept.
func (p *Process) do(ctx context.Context, op *Op, apply func() error) error {
	op.process, op.world = p, p.node.world
	op.world.park(op)
	err := ctx.Err() // the caller's deadline may have passed on the way: then the operation never arrives
	if err == nil {
		err = op.world.cfg.Intercept(ctx, op, apply)
	}
	if err == nil && op.world.cfg.Sync != nil && op.returned == nil { // an Intercept that parked the caller has used that time
		err = op.sync(ctx)
	}
	p.exitIfDead()
	op.outcome = outcome(err)
	return err
}

// sync has the caller of an operation that had its effect wait until the server has synced its files, or until its deadline.
func (op *Op) sync(ctx context.Context) (err error) {
	d := op.world.cfg.Sync(op)
	if d == 0 {
		return nil
	}
	if at, ok := ctx.Deadline(); ok {
		if left := at.Sub(op.world.wall()); left < d {
			d, err = left, context.DeadlineExceeded
		}
	}
	op.outcome = outcome(err)
	back := op.back()
	back.outcome, back.after = op.outcome, d
	op.world.syncs.Add(1)
	defer op.world.syncs.Add(-1) // also if its process crashes
	op.world.park(back)
	return err
}

// Syncs says whether somebody waits until a server has synced its files ([Config.Sync]): its effect is there, and it has yet to go
// on.
func (w *World) Syncs() bool { return w.syncs.Load() > 0 }

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
	granted := make(chan struct{}, 1)
	op.wake = func(bool) { granted <- struct{}{} }
	w.mu.Lock()
	if op.process.dead {
		w.mu.Unlock()
		runtime.Goexit()
	}
	w.arrive(op)
	w.mu.Unlock()
	<-granted
	op.process.exitIfDead()
}

// exitIfDead ends the calling goroutine if its process has crashed.
func (p *Process) exitIfDead() {
	w := p.node.world
	w.mu.Lock()
	dead := p.dead
	w.mu.Unlock()
	if dead {
		runtime.Goexit()
	}
}

// At schedules f to run as a step of the harness's own at the given instant of virtual time, or at
// once if that has passed. It goes before whatever else is ready then. The function that it returns
// cancels the step, unless it has been taken.
func (w *World) At(at time.Duration, verb, target string, f func()) (cancel func()) {
	op := &Op{Kind: KindControl, Name: verb, Target: target, wake: func(bool) { f() }, ready: at, outcome: OutcomeOK}
	w.schedule(op)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		op.withdrawn = true
	}
}

// Control makes f a step of the harness's own, as soon as possible.
func (w *World) Control(verb, target string, f func()) { w.At(w.Now(), verb, target, f) }

// schedule lets op arrive, which no goroutine waits for.
func (w *World) schedule(op *Op) {
	op.world, op.scheduled = w, true
	w.mu.Lock()
	w.arrive(op)
	w.mu.Unlock()
}

// arrive hands op to the stepper, and wakes it. Its caller holds World.mu.
func (w *World) arrive(op *Op) {
	w.arrivals = append(w.arrivals, op)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Intercept stands between a granted operation and its effect. It calls apply, which has the
// effect, zero or more times, and returns what the caller is to see.
type Intercept func(ctx context.Context, op *Op, apply func() error) error

// Return parks once more before an operation that blocked gives its caller err, so that the caller
// wakes by a step of its own. An Intercept that waits for a deadline ends with it.
func (op *Op) Return(err error) error { return op.returnWith(err, "") }

func (op *Op) returnWith(err error, data string) error {
	back := op.back()
	back.Tags, back.asked, back.Data, back.fault = op.Tags, op.asked, data, op.fault
	op.world.park(back)
	back.outcome = outcome(err)
	return err
}

// Hold notes what came of an operation that had its effect, and parks once more: its caller learns of
// it by a step of its own, whenever that comes. An Intercept that pauses the node ends with it.
func (op *Op) Hold(err error) error {
	op.outcome = outcome(err)
	back := op.back()
	back.outcome = op.outcome
	op.world.park(back)
	return err
}

// back is the step by which op's caller goes on.
func (op *Op) back() *Op {
	op.returned = &Op{Kind: KindReturn, Name: cmp.Or(op.Name, string(op.Kind)), Target: op.Target, process: op.process, world: op.world, of: op}
	return op.returned
}

// Late gives an operation its effect d after its caller gave up, whether its sender lives then or not. That is a step
// of its own ([KindLate]), which counts as its sender's. An Intercept calls Late with the effect that it was given, and
// then returns a timeout. At the late step then is called; it may be nil.
//
// A Redis command is held back on its connection, which nobody uses any more: an EXEC meets what its
// connection has WATCHed. A message is published late by the world itself.
// Late returns false for other kinds of operation, and for one that sent nothing.
func (op *Op) Late(d time.Duration, apply func() error, then func()) bool {
	call, ok := op.call.(holdable)
	if !ok {
		return false
	}
	late := &Op{
		Kind: KindLate, Name: cmp.Or(op.Name, string(op.Kind)), Target: op.Target, Tags: op.Tags, Write: op.Write, Occurrence: op.Occurrence,
		process: op.process, call: op.call, ready: op.world.Now() + d, fault: op.fault,
	}
	arrive := call.hold(op, apply)
	if arrive == nil {
		return false
	}
	late.wake = func(bool) {
		late.outcome = arrive()
		if then != nil {
			then()
		}
	}
	op.world.schedule(late)
	return true
}
