package sim

import (
	"cmp"
	"slices"
	"time"
)

// Strategy decides the order of steps. It sees operations only as they are described, and takes
// its chance only from keyed draws, so that a seed fixes its choices. One that remembers what it chose
// is for one run.
type Strategy interface {
	// Delay is asked once for each operation, when it parks: how long until it may be granted.
	Delay(op *Op, chance uint64) time.Duration
	// Pick chooses among the operations that may be granted now: at least one, in a fixed order. It is asked once
	// for each step that is not the harness's own, and what it chooses is granted.
	Pick(ready []*Op) int
}

// Latency is discrete-event order: every operation takes a drawn time, and the earliest goes first.
// One operation in a hundred is slow, which is what moves replicas past each other.
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

// Pick takes the first: the earliest to be ready.
func (Latency) Pick([]*Op) int { return 0 }

// Random picks by priorities that are drawn for each operation when it parks, and each is ready then:
// virtual time passes only when no actor can move. It reaches interleavings that latencies make
// unlikely. An operation that is left out moves no other before or after another.
type Random struct{}

// Delay is zero.
func (Random) Delay(*Op, uint64) time.Duration { return 0 }

// Pick takes the operation of the lowest priority.
func (Random) Pick(ready []*Op) int {
	return slices.Index(ready, slices.MinFunc(ready, func(a, b *Op) int { return cmp.Compare(a.Priority, b.Priority) }))
}
