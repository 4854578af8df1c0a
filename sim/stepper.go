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
	StopDone  Stop = "done"  // the condition that the caller waits for holds
	StopTime  Stop = "time"  // the limit has passed
	StopSteps Stop = "steps" // Config.StepsMax is reached, or the run has failed and [Run] will say why
)

// Step moves the world, one operation at a time, until done returns true or virtual time reaches limit. It
// calls done between steps, when everything is settled.
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

// admit queues the operations that have arrived since the last step.
func (w *World) admit() {
	w.mu.Lock()
	arrived := w.arrivals
	w.arrivals = nil
	select { // otherwise waitUntil would wake for them at once
	case <-w.wake:
	default:
	}
	w.mu.Unlock()
	w.queue.admit(arrived, w.Now(), w.steps)
}

// waitUntil lets virtual time pass until the given instant, or until the next arrival.
func (w *World) waitUntil(at time.Duration) {
	w.timer.Reset(at - w.Now())
	select {
	case <-w.timer.C:
	case <-w.wake:
	}
	w.timer.Stop()
}

// orEvery returns the given instant, or that of the next OnEvery if it is earlier.
func (w *World) orEvery(at time.Duration) time.Duration {
	if w.cfg.Every > 0 {
		return min(at, w.nextEvery)
	}
	return at
}

// every calls OnEvery for each multiple of Every since its last call.
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
	if w.steps&0xff == 0 { // the check is a system call
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

// settle completes the last step: it asks the servers what the step changed, and emits its event.
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
