package campaign

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/wavetank-sim/wavetank/sim"
)

// heap limits how much of this process's heap a run may take. It is checked after each step, so that the
// limit is exceeded at the same step each time. It is also checked on the real clock, for a step that does
// not end.
type heap struct {
	bound int64
	base  atomic.Int64 // what earlier runs have left
}

// heapEvery is how often the heap is checked on the real clock.
const heapEvery = 20 * time.Millisecond

func newHeap(bound int64) *heap {
	runtime.GC() // before the first collection, nothing counts as live
	return &heap{bound: bound}
}

// live is what the last collection found in use; allocated also counts what was allocated since.
func live() int64      { return metric("/gc/heap/live:bytes") }
func allocated() int64 { return metric("/memory/classes/heap/objects:bytes") }

func metric(name string) int64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64()) - sim.Ballast
}

// begin is called before a run.
func (h *heap) begin() { h.base.Store(h.history()) }

// history is what is in use between runs.
func (h *heap) history() int64 {
	if live() > h.bound/16 { // the last collection may have counted the run before
		runtime.GC()
	}
	return live()
}

// grown says whether earlier runs have left so much that the process should be replaced.
func (h *heap) grown() bool { return h.history() > h.bound/2 }

// over says whether the run takes more than its bound, not counting garbage.
func (h *heap) over() bool {
	limit := h.bound + h.base.Load()
	if allocated() <= limit {
		return false
	}
	runtime.GC()
	return live() > limit
}

// overInStep says whether the heap is over its bound, and the run either stays in one step or is too far over it
// to wait for the end of the step.
func (h *heap) overInStep(steps func() int64) bool {
	before := steps()
	return h.over() && (steps() == before || live() > 3*h.bound)
}

func (h *heap) says() string {
	return fmt.Sprintf("the run took more than %d MiB of heap", h.bound>>20)
}
