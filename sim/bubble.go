package sim

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server/ats"

	"github.com/wavetank-sim/wavetank/sim/tempdir"
)

// Summary is the fingerprint and the size of a run.
type Summary struct {
	Digest  string        // 16 hexadecimal digits over every event
	Steps   int           //
	Virtual time.Duration // how long the run took on its own clock
	Redis   string        // the name and version of its redis-server; empty for miniredis
}

// Ballast is the size in bytes of an allocation that this package holds and never uses. The runtime returns
// memory to the system if it holds more than was in use at the last collection. Between two bubbles next to
// nothing is in use. So without the ballast each run would fetch its memory again, page by page, which takes
// a third of the time of a small run. The ballast counts as in use, so the runtime keeps the memory.
const Ballast = 64 << 20

var (
	ballast = make([]byte, Ballast)
	once    sync.Once
	bubbles atomic.Int64
	running sync.Mutex // one bubble at a time: client libraries share pooled timers between them
)

// ErrNotEnded is the error of a bubble that could not end because goroutines outlived its world. They stay,
// with all that they hold, until the process ends.
var ErrNotEnded = errors.New("sim: the bubble did not end")

// Run makes a world in a bubble of its own, calls body with it, and ends it cleanly. It returns body's error,
// and joins another if a goroutine outlives the world. A panic in body is returned as an error. A panic in
// another goroutine ends the process.
func Run(cfg Config, body func(*World) error) (sum Summary, err error) {
	if disks := []string{DiskAlways, DiskEverySec, DiskNo, DiskRDB}; cfg.RedisDisk != "" && !slices.Contains(disks, cfg.RedisDisk) {
		return sum, fmt.Errorf("sim: Config.RedisDisk is %q; give one of %q", cfg.RedisDisk, disks)
	}
	running.Lock()
	defer running.Unlock()
	once.Do(ats.Register) // nats-server's access-time ticker would otherwise live in the first bubble
	takeTasks()
	if cfg.RedisServer != "" && cfg.RedisDisk == "" {
		if err := CheckRedisServer(cfg.RedisServer); err != nil {
			return sum, fmt.Errorf("sim: %w", err)
		}
	}
	folder, remove, err := tempdir.New(tempdir.Memory(), tempdir.World)
	if err != nil {
		return sum, fmt.Errorf("sim: a folder for the files of servers: %w", err)
	}
	defer remove()
	if bubbles.Add(1) > 1 {
		// Twice empties the sync.Pools: a pooled timer must not come from another bubble.
		runtime.GC()
		runtime.GC()
	}
	runtime.KeepAlive(ballast)
	var progress atomic.Int64
	defer watch(&progress, cfg.Stall, cfg.OnStall)()
	defer func() {
		if r := recover(); r != nil && !errors.Is(err, ErrUnknownCommand) { // an actor that was refused may wait for ever
			err = errors.Join(err, fmt.Errorf("%w: %v", ErrNotEnded, r))
		}
	}()
	synctest.Test(&testing.T{}, func(*testing.T) {
		w := newWorld(cfg, &progress)
		w.folder = folder
		sum, err = w.live(body)
	})
	return sum, err
}

// live runs the world from its beginning to its end, within the bubble.
func (w *World) live(body func(*World) error) (sum Summary, err error) {
	sleepUntil(cmp.Or(w.cfg.Start, DefaultStart)) // a bubble's clock begins in the year 2000
	w.servers = []server{&redisServer{world: w}, &natsServer{world: w}}
	if err := w.startServers(); err != nil {
		return sum, err
	}
	w.begin()
	defer w.stop()
	ended := make(chan struct{})
	go func() { // t.FailNow ends the goroutine that calls it: that must not be the bubble's own
		defer close(ended)
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("sim: panic: %v\n%s", r, debug.Stack())
			}
		}()
		err = errors.New("sim: the test failed within the world")
		err = body(w)
	}()
	<-ended
	redis := find[*redisServer](w.servers).store
	sum = Summary{Digest: w.trace.digest(), Steps: w.steps, Virtual: w.Now(), Redis: redis.version()}
	w.checkRoom()
	if lost := redis.lost(); lost != nil {
		_ = w.fail(fmt.Errorf("sim: %w", lost))
	}
	if failed := w.failure(); failed != nil {
		return sum, failed
	}
	if err == nil && w.trace.err != nil {
		err = fmt.Errorf("sim: the trace could not be written: %w", w.trace.err)
	}
	return sum, err
}

// startServers starts Redis and nats-server, or neither.
func (w *World) startServers() (err error) {
	w.checkRoom()
	if err := w.failure(); err != nil {
		return err
	}
	started := 0
	defer func() {
		if r := recover(); r != nil { // [must]
			err = fmt.Errorf("sim: %v", r)
		}
		if err != nil {
			for _, s := range w.servers[:started] {
				s.stop()
			}
		}
	}()
	for _, s := range w.servers {
		if err := s.start(); err != nil {
			return fmt.Errorf("sim: %w", err)
		}
		started++
	}
	return nil
}

// stop ends every goroutine of the world. The bubble fails if one is left.
func (w *World) stop() {
	for _, n := range w.nodes {
		n.Crash()
	}
	w.reap()
	for _, s := range w.servers {
		s.stop()
	}
	w.timer.Stop()
	// A pull that blocked when its connection closed ends by its own timer; an hour is longer
	// than any that a service waits for, and costs nothing.
	w.standStill(w.Now() + time.Hour)
}
