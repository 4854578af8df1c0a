package sim

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server/ats"
)

// Summary is what a run leaves: its fingerprint and its size.
type Summary struct {
	Digest  string        // 16 hexadecimal digits over every event
	Steps   int           //
	Virtual time.Duration // how long the run took on its own clock
}

var (
	setUp   sync.Once
	bubbles atomic.Int64
	running sync.Mutex // one bubble at a time: client libraries share pooled timers between them
)

// ErrNotEnded is the error of a bubble that could not end: goroutines outlived its world. They stay,
// with all that they hold, until the process ends.
var ErrNotEnded = errors.New("sim: the bubble did not end")

// Run makes a world in a bubble of its own, lets body build and move it, and ends it cleanly.
// It returns body's error; a goroutine that outlives the world is an error too. A panic in body
// comes back as an error; one in another goroutine ends the process, as any does.
func Run(cfg Config, body func(*World) error) (sum Summary, err error) {
	running.Lock()
	defer running.Unlock()
	setUp.Do(ats.Register) // nats-server's access-time ticker would otherwise live in the first bubble
	if bubbles.Add(1) > 1 {
		// Twice empties the sync.Pools: a pooled timer must not come from another bubble.
		runtime.GC()
		runtime.GC()
	}
	var progress atomic.Int64
	defer watch(&progress, cfg.Stall, cfg.OnStall)()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrNotEnded, r)
		}
	}()
	synctest.Test(&testing.T{}, func(*testing.T) { sum, err = inBubble(cfg, &progress, body) })
	return sum, err
}

func inBubble(cfg Config, progress *atomic.Int64, body func(*World) error) (sum Summary, err error) {
	w, err := newWorld(cfg, progress)
	if err != nil {
		return sum, err
	}
	defer w.stop()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("sim: panic: %v\n%s", r, debug.Stack())
		}
	}()
	err = body(w)
	sum = Summary{Digest: w.trace.digest(), Steps: w.steps, Virtual: w.Now()}
	if err == nil && w.trace.err != nil {
		err = fmt.Errorf("sim: the trace could not be written: %w", w.trace.err)
	}
	return sum, err
}
