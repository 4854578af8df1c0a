package sim

import (
	"strconv"
	"testing/synctest"
	"time"
)

// Stop says why stepping ended.
type Stop string

// The reasons for which stepping ends.
const (
	StopDone  Stop = "done"  // what the caller waited for came about
	StopTime  Stop = "time"  // the virtual time it was given is over
	StopSteps Stop = "steps" // Config.StepsMax is used up, or the run has failed and [Run] will say why
)

// Step moves the world, one operation at a time, until done says so (it is asked between steps,
// when everything is settled) or until limit, an instant of virtual time, has passed.
func (w *World) Step(limit time.Duration, done func() bool) Stop {
	if !w.cfg.Ungated {
		for _, s := range w.servers {
			s.adopt()
		}
	}
	for {
		synctest.Wait() // every goroutine is parked at a gate or waits for a timer or a server
		w.progress.Add(1)
		w.settle()
		w.every()
		if done != nil && done() {
			return StopDone
		}
		if w.steps >= w.cfg.StepsMax || w.failure() != nil {
			return StopSteps
		}
		w.admit()
		at, there := w.queue.next()
		switch now := w.Now(); {
		case !there || at > limit:
			if now >= limit {
				return StopTime
			}
			w.waitUntil(w.orEvery(limit))
		case at > now:
			w.waitUntil(w.orEvery(at))
		default:
			w.grant(w.queue.pick(at), now)
		}
	}
}

// admit takes in what has arrived since the last step.
func (w *World) admit() {
	w.mu.Lock()
	arrived := w.arrivals
	w.arrivals = nil
	select { // or waitUntil would wake for them at once
	case <-w.wake:
	default:
	}
	w.mu.Unlock()
	w.queue.admit(arrived, w.Now(), w.steps)
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

// orEvery is the given instant, or that of the next look if it is earlier.
func (w *World) orEvery(at time.Duration) time.Duration {
	if w.cfg.Every > 0 {
		return min(at, w.nextEvery)
	}
	return at
}

// every has the world looked at, as often as it was to be since the last time.
func (w *World) every() {
	for w.cfg.Every > 0 && w.Now() >= w.nextEvery {
		w.cfg.OnEvery(w.nextEvery)
		w.nextEvery += w.cfg.Every
	}
}

// grant lets op have its effect, as the next step.
func (w *World) grant(op *Op, now time.Duration) {
	w.queue.take(op, now)
	w.steps++
	op.step = w.steps
	if w.steps&0xff == 0 { // it is a system call
		w.checkRoom()
	}
	w.current = op
	if op.Phase != "" && op.Kind != KindReturn && op.Kind != KindLate {
		h := Draw(0, "occurrence", op.Job, op.Phase, strconv.FormatBool(op.Write))
		op.Occurrence = int(w.occurrences.next(h))
	}
	for _, s := range w.servers {
		s.before(op)
	}
	op.wake(true)
}

// settle completes the step before: it asks the servers what the step changed, and hands its event out.
func (w *World) settle() {
	if op := w.current; op != nil {
		w.current = nil
		e := w.trace.event(op)
		e.Step, e.At = op.step, w.queue.last
		for _, s := range w.servers {
			e.Changes = s.changed(op, e.Changes)
		}
		w.trace.add(e)
		if w.cfg.Observe != nil {
			w.cfg.Observe(e)
		}
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
		for _, c := range p.clients {
			c.close()
		}
	}
	w.doomed = nil
	synctest.Wait()
}
