package campaign

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// heap bounds what a run may take of this process's heap. It is looked at after each step, so that it is
// found too large at the same step each time, and on the real clock, for a step that does not end.
type heap struct {
	bound int64
	base  atomic.Int64 // what earlier runs have left
}

// heapEvery is how often it is looked at on the real clock.
const heapEvery = 20 * time.Millisecond

func newHeap(bound int64) *heap {
	runtime.GC() // before the first, nothing is live
	return &heap{bound: bound}
}

// live is what the last collection has found to be in use, and allocated that with what came since.
func live() int64      { return metric("/gc/heap/live:bytes") }
func allocated() int64 { return metric("/memory/classes/heap/objects:bytes") }

func metric(name string) int64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64()) - sim.Ballast
}

// begin is called before a run.
func (h *heap) begin() { h.base.Store(h.history()) }

// history is what is in use although no run is under way.
func (h *heap) history() int64 {
	if live() > h.bound/16 { // it may count the run before
		runtime.GC()
	}
	return live()
}

// grown says whether earlier runs have left so much that the process is better replaced.
func (h *heap) grown() bool { return h.history() > h.bound/2 }

// over says whether the run takes more than its bound, garbage left out.
func (h *heap) over() bool {
	limit := h.bound + h.base.Load()
	if allocated() <= limit {
		return false
	}
	runtime.GC()
	return live() > limit
}

// overInStep says whether the heap is over its bound while the run stays in one step, or is so far
// over it that the end of the step cannot be waited for.
func (h *heap) overInStep(steps func() int64) bool {
	before := steps()
	return h.over() && (steps() == before || live() > 3*h.bound)
}

func (h *heap) says() string {
	return fmt.Sprintf("the run took more than %d MiB of heap", h.bound>>20)
}
