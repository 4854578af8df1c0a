package safety

import "time"

// alone is a circuit by one replica's own calls: what it goes by while Redis is away, or if it shares
// nothing. The breaker's mutex guards it.
type alone struct {
	failures  int       // in a row
	openUntil time.Time // once they fill the budget
	probes    int       // sent since then
	successes int       // of those
}

func (a *alone) state(b *Breaker) State {
	switch {
	case a.failures < b.FailBudget:
		return Closed
	case b.Clock.Now().Before(a.openUntil):
		return Open
	}
	return HalfOpen
}

func (a *alone) fail(b *Breaker) {
	a.failures++
	if a.failures >= b.FailBudget {
		a.openUntil, a.probes, a.successes = b.Clock.Now().Add(b.OpenFor), 0, 0
	}
}

// succeed ends a row of failures. While nobody but the replica itself knows of one that opened the
// circuit, only its probes close it again.
func (a *alone) succeed(b *Breaker, p pass) {
	if p.alone && a.failures >= b.FailBudget {
		if p.state == HalfOpen {
			a.successes++
		}
		if a.successes < b.CloseAfter {
			return
		}
	}
	*a = alone{}
}

func (b *Breaker) enterAlone() (pass, error) {
	b.mu.Lock()
	state := b.own.state(b)
	out := state == HalfOpen && b.own.probes >= b.HalfOpenMax
	if state == HalfOpen && !out {
		b.own.probes++
	}
	b.mu.Unlock()
	p := pass{seen: seen{state: state}, alone: true}
	switch {
	case state == Open:
		return p, b.refuse("")
	case out:
		return p, b.refuse(": half-open, and its probes are used up")
	}
	return p, nil
}

// window is the half-open window that a replica counts its own probes in. The breaker's mutex guards it.
type window struct {
	ends      time.Time
	probes    int
	successes int
}

// probe counts one of the replica's own probes, and says whether it may go out. Windows lie apart by more than
// OpenFor; what is within half of that is the same one, by clocks that do not agree to the millisecond.
func (b *Breaker) probe(s seen) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ends := b.Clock.Now().Add(s.ttl); ends.Sub(b.window.ends) > b.OpenFor/2 {
		b.window = window{ends: ends}
	}
	if b.window.probes >= b.HalfOpenMax {
		return false
	}
	b.window.probes++
	return true
}

// giveBack lets another call have the probe of one that says nothing of the service, or of whose answer Redis was not
// told. Probes that are counted in Redis are forgotten in time; those of a replica have no end but an answer.
func (b *Breaker) giveBack(p pass) {
	if p.state != HalfOpen {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.alone {
		b.own.probes = max(0, b.own.probes-1)
	} else {
		b.window.probes = max(0, b.window.probes-1)
	}
}

// enough counts the success of one of the replica's own probes, and says whether that closes the circuit.
func (b *Breaker) enough() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.window.successes++
	return b.window.successes >= b.CloseAfter
}
