package workflow

import (
	"context"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// timers are the delays that this replica has in memory, one for each run: the earliest. What is later is armed
// again when that one has fired.
type timers struct {
	mu      sync.Mutex
	armed   map[string]*timer // by run
	closed  bool
	pending sync.WaitGroup // what has been fired, or begun by [Engine.Go], and is not done
}

// timer is when a run is to be advanced.
type timer struct {
	at     time.Time
	member string    // the run's entry in Redis; "" if it has none
	kept   time.Time // when that one is due: at, or later if a shorter delay comes first
	clock  clockwork.Timer
}

// keeps says whether the run has such an entry in Redis, by what this replica knows.
func (t *timers) keeps(runID string, at time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.armed[runID]
	return k != nil && k.member != "" && k.kept.Equal(at)
}

// Go runs fn in a goroutine that [Engine.Close] waits for.
func (e *Engine) Go(fn func(ctx context.Context)) {
	t := &e.timers
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.pending.Add(1)
	go func() {
		defer t.pending.Done()
		fn(context.Background())
	}()
}

// Close forgets the timers in memory, and waits for what they have begun. Those in Redis remain, for another
// replica or the next start.
func (e *Engine) Close() {
	t := &e.timers
	t.mu.Lock()
	t.closed = true
	for _, k := range t.armed {
		k.clock.Stop()
	}
	t.armed = nil
	t.mu.Unlock()
	t.pending.Wait()
}
