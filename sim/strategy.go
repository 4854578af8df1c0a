package sim

import (
	"cmp"
	"slices"
	"time"
)

// Strategy decides the order of steps. It knows operations only by their descriptions, and takes chance only
// from keyed draws, so a seed fixes its choices. A Strategy that keeps state is for one run.
type Strategy interface {
	// Delay is called once for each operation, when it parks. It returns how long until the operation may be
	// granted.
	Delay(op *Op, chance uint64) time.Duration
	// Pick chooses among the operations that may be granted now: at least one, in a fixed order. It is called
	// once for each step that is not the harness's own, and its choice is granted.
	Pick(ready []*Op) int
}

// Latency is discrete-event order: every operation takes a drawn time, and the earliest goes first. One
// operation in a hundred is slow, which makes replicas overtake each other.
type Latency struct{}

// span is a range of latencies, [least, least+width).
type span struct{ least, width time.Duration }

var latencies = map[Kind]span{
	KindRedis:    {80 * time.Microsecond, 400 * time.Microsecond},
	KindPublish:  {200 * time.Microsecond, 1200 * time.Microsecond},
	KindAPI:      {200 * time.Microsecond, 1200 * time.Microsecond},
	KindTimer:    {time.Microsecond, 60 * time.Microsecond},
	KindStart:    {time.Millisecond, 20 * time.Millisecond},
	KindReturn:   {time.Microsecond, 60 * time.Microsecond},
	KindFetchEnd: {time.Microsecond, 60 * time.Microsecond},
}

var otherLatency = span{100 * time.Microsecond, 600 * time.Microsecond}

const slowOneIn, slowFactor = 100, 25

// Delay draws the operation's latency from the range of its kind.
func (Latency) Delay(op *Op, chance uint64) time.Duration {
	s := cmp.Or(latencies[op.Kind], otherLatency)
	d := s.least + time.Duration(chance%uint64(s.width))
	if (chance>>40)%slowOneIn == 0 {
		d *= slowFactor
	}
	return d
}

// Pick takes the first operation, which is the earliest to be ready.
func (Latency) Pick([]*Op) int { return 0 }

// Random picks by a priority that is drawn for each operation when it parks. An operation is ready at once,
// so virtual time passes only when no actor can move. Random reaches interleavings that latencies make
// unlikely. Leaving an operation out changes the order of no others.
type Random struct{}

// Delay is zero.
func (Random) Delay(*Op, uint64) time.Duration { return 0 }

// Pick takes the operation with the lowest priority.
func (Random) Pick(ready []*Op) int {
	return slices.Index(ready, slices.MinFunc(ready, func(a, b *Op) int { return cmp.Compare(a.Priority, b.Priority) }))
}
