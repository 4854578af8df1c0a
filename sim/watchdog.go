package sim

import (
	"cmp"
	"runtime"
	"sync/atomic"
	"time"
)

// stallDefault is far longer than any step takes, on any machine and under any load.
const stallDefault = time.Minute

// watch checks, on the real clock and from outside the bubble, whether the world still moves. A world that
// does not cannot be ended from within: an actor waits for something other than a gate, its clock or its
// context (most often a mutex held across a gate), or loops without them.
func watch(progress *atomic.Int64, limit time.Duration, stalled func(dump string)) (stop func()) {
	limit = cmp.Or(limit, stallDefault)
	if stalled == nil {
		stalled = func(dump string) {
			panic("sim: the world does not move; an actor may only wait at gates, on its clock or on its context\n\n" + dump)
		}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(limit / 4)
		defer tick.Stop()
		for last, still := progress.Load(), 0; still < 4; still++ {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if now := progress.Load(); now != last {
				last, still = now, -1
			}
		}
		buf := make([]byte, 1<<20)
		dump := string(buf[:runtime.Stack(buf, true)])
		EndRedisServers()
		stalled(dump)
	}()
	return func() {
		close(done)
		<-ended
	}
}
