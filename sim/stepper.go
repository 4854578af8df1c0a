package sim

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"
)

// Stop says why stepping ended.
type Stop string

// The reasons for which stepping ends.
const (
	StopDone  Stop = "done"  // what the caller waited for came about
	StopTime  Stop = "time"  // the virtual time it was given is over
	StopSteps Stop = "steps" // Config.StepsMax is used up
)

// Step moves the world, one operation at a time, until done says so (it is asked between steps,
// when everything is settled) or until limit, an instant of virtual time, has passed.
func (w *World) Step(limit time.Duration, done func() bool) Stop {
	if !w.cfg.Ungated {
		w.observeStreams()
		synctest.Wait()
		w.readStreams() // what the harness itself has stored is no step's doing
	}
	for {
		synctest.Wait() // every goroutine is parked at a gate or waits for a timer or a server
		w.progress.Add(1)
		w.settle()
		if done != nil && done() {
			return StopDone
		}
		if w.steps >= w.cfg.StepsMax {
			return StopSteps
		}
		w.admit()
		op, at := w.next()
		switch now := w.Now(); {
		case op == nil || at > limit:
			if now >= limit {
				return StopTime
			}
			w.waitUntil(limit)
		case at > now:
			w.waitUntil(at)
		default:
			w.grant(op, now)
		}
	}
}

// waitUntil lets virtual time pass to the given instant, or to the next arrival.
func (w *World) waitUntil(at time.Duration) {
	w.timer.Reset(at - w.Now())
	select {
	case <-w.timer.C:
	case <-w.wake:
	}
	w.timer.Stop()
}

// admit takes in what has arrived since the last step, in an order that depends on what it is.
func (w *World) admit() {
	w.mu.Lock()
	arrived := w.arrivals
	w.arrivals = nil
	w.mu.Unlock()
	if len(arrived) > 1 {
		slices.SortStableFunc(arrived, (*Op).compare)
	}
	now := w.Now()
	for _, op := range arrived {
		if op.withdrawn {
			continue
		}
		if op.process != nil {
			h := draw(w.cfg.Seed, "delay", op.Node(), string(op.Kind), op.Name, op.Target, op.Job, op.Phase)
			chance := mix(h, w.chances.next(h))
			op.Priority = mix(chance, 1)
			op.ready = now + w.cfg.Strategy.Delay(op, chance)
		}
		w.parked = append(w.parked, op)
	}
}

// next returns the operation to grant and the instant to grant it at, strictly after the last
// step's: no two steps share an instant, so that no two timers they set do.
func (w *World) next() (*Op, time.Duration) {
	w.parked = slices.DeleteFunc(w.parked, func(op *Op) bool { return op.withdrawn })
	if len(w.parked) == 0 {
		return nil, 0
	}
	at := w.readyAt(w.parked[0])
	for _, op := range w.parked[1:] {
		at = min(at, w.readyAt(op))
	}
	at = max(at, w.currentAt+1)
	w.ready = w.ready[:0]
	for _, op := range w.parked {
		if w.readyAt(op) <= at {
			if op.process == nil { // the harness does not wait its turn
				return op, at
			}
			w.ready = append(w.ready, op)
		}
	}
	if len(w.ready) > 1 {
		slices.SortStableFunc(w.ready, func(a, b *Op) int {
			return cmp.Or(cmp.Compare(w.readyAt(a), w.readyAt(b)), cmp.Compare(a.ready, b.ready), a.compare(b))
		})
	}
	return w.ready[w.cfg.Strategy.Pick(w.ready)], at
}

func (w *World) readyAt(op *Op) time.Duration {
	switch {
	case op.process == nil:
		return op.ready
	case op.Kind == KindStart:
		return max(op.ready, w.backAt) // a process connects first
	}
	return max(op.ready, op.process.node.pausedUntil)
}

// grant lets op have its effect, as the next step.
func (w *World) grant(op *Op, now time.Duration) {
	w.parked = slices.DeleteFunc(w.parked, func(o *Op) bool { return o == op })
	w.steps++
	w.current, w.currentAt = op, now
	if op.Phase != "" && op.Kind != KindReturn && op.Kind != KindLate {
		h := draw(0, "occurrence", op.Job, op.Phase, strconv.FormatBool(op.Write))
		op.Occurrence = int(w.occurrences.next(h))
	}
	if op.Kind == KindRedis || op.Kind == KindLate {
		w.expire()
		w.countDown(op)
	}
	if op.fire != nil {
		op.fire()
		return
	}
	op.grant <- struct{}{}
}

// settle completes the step before: it reads what the step changed, and hands its event out.
func (w *World) settle() {
	op := w.current
	if op == nil {
		w.reap()
		return
	}
	w.current = nil
	if op.Kind == KindAPI && strings.HasSuffix(op.Name, "Stream") {
		w.observe(op.Target, 1)
	}
	w.event = Event{
		Step: w.steps, At: w.currentAt, Node: op.Node(), Kind: op.Kind, Name: op.Name, Target: op.Target,
		Job: op.Job, Phase: op.Phase, Occurrence: op.Occurrence, Fault: op.fault, Outcome: op.outcome,
		Seq: op.Seq, Delivered: op.Delivered, Data: op.Data, Changes: w.event.Changes[:0],
	}
	e := &w.event
	if p := op.by(); p != nil {
		e.Incarnation = p.incarnation
	}
	if e.Outcome == "" {
		e.Outcome = OutcomePending
	}
	if op.applied && len(op.touched) > 0 {
		e.Changes = append(e.Changes, w.readTouched(op.touched, op.refused)...)
	}
	if op.Kind == KindPublish || op.Kind == KindSend || op.Kind == KindLate {
		e.Changes = append(e.Changes, w.readStreams()...)
	}
	e.Changes = append(e.Changes, w.rewound...)
	w.rewound = nil
	w.trace.add(e)
	if w.cfg.Observe != nil {
		w.cfg.Observe(e)
	}
	w.reap()
}

// reap closes the connections of processes that crashed.
func (w *World) reap() {
	if len(w.doomed) == 0 {
		return
	}
	synctest.Wait()
	for _, p := range w.doomed {
		p.close()
	}
	w.doomed = nil
	synctest.Wait()
}

// At schedules f to run as a step of the harness's own at the given instant of virtual time, or at
// once if that has passed. It goes before whatever else is ready then.
func (w *World) At(at time.Duration, verb, target string, f func()) {
	op := &Op{Kind: KindControl, Name: verb, Target: target, ready: at, fire: f, outcome: OutcomeOK}
	w.enqueue(op)
}

// Control makes f a step of the harness's own, as soon as possible.
func (w *World) Control(verb, target string, f func()) { w.At(w.Now(), verb, target, f) }
