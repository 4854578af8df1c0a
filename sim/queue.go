package sim

import (
	"cmp"
	"slices"
	"time"
)

// queue holds the parked operations, and chooses which of them goes next.
type queue struct {
	seed     uint64
	strategy Strategy
	chances  counter
	parked   []*Op
	ready    []*Op         // of next, kept to reuse its memory
	last     time.Duration // when the last operation was granted
}

// admit adds operations that have arrived since the last step. It orders them by their descriptions,
// since the order in which their goroutines ran is the Go scheduler's.
func (q *queue) admit(arrived []*Op, now time.Duration, steps int) {
	if len(arrived) > 1 {
		slices.SortStableFunc(arrived, (*Op).compare)
	}
	for _, op := range arrived {
		if op.withdrawn {
			continue
		}
		op.since = steps
		if !op.scheduled {
			h := Draw(q.seed, "delay", op.Node(), string(op.Kind), op.Name, op.Target, op.Job, op.Phase)
			chance := mix(h, q.chances.next(h))
			op.Priority = mix(chance, 1)
			op.ready = now + op.after + q.strategy.Delay(op, chance)
		}
		q.parked = append(q.parked, op)
	}
}

// next is the instant at which the next operation is to be granted, and false if nothing is parked. The
// instant is after the last step's: no two steps share one, so no two timers that they set share one.
func (q *queue) next() (time.Duration, bool) {
	q.parked = slices.DeleteFunc(q.parked, func(op *Op) bool { return op.withdrawn })
	if len(q.parked) == 0 {
		return 0, false
	}
	at := q.parked[0].readyAt()
	for _, op := range q.parked[1:] {
		at = min(at, op.readyAt())
	}
	return max(at, q.last+1), true
}

// pick chooses the operation to grant at the instant that next gave.
func (q *queue) pick(at time.Duration) *Op {
	q.ready = q.ready[:0]
	for _, op := range q.parked {
		if op.readyAt() <= at {
			if op.scheduled { // it does not wait its turn
				return op
			}
			q.ready = append(q.ready, op)
		}
	}
	if len(q.ready) > 1 {
		slices.SortStableFunc(q.ready, func(a, b *Op) int {
			return cmp.Or(cmp.Compare(a.readyAt(), b.readyAt()), cmp.Compare(a.ready, b.ready), a.compare(b))
		})
	}
	return q.ready[q.strategy.Pick(q.ready)]
}

// readyAt is the earliest instant at which the operation may be granted.
func (op *Op) readyAt() time.Duration {
	if op.scheduled {
		return op.ready
	}
	at := max(op.ready, op.process.node.pausedUntil)
	if op.Kind == KindStart {
		at = max(at, op.world.serversBack) // a process connects first
	}
	return at
}

// take removes the operation that is granted now.
func (q *queue) take(op *Op, now time.Duration) {
	q.parked = slices.DeleteFunc(q.parked, func(o *Op) bool { return o == op })
	q.last = now
}
