package sim

import (
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"github.com/jonboulle/clockwork"
)

// Skew sets the node's wall clock ahead of the world's, or behind it if ahead is negative. Its monotonic
// clock runs on, as on a machine whose time somebody sets: timers, and intervals that Go's time.Time measures
// within one process, are not affected.
func (n *Node) Skew(ahead time.Duration) { n.skew = ahead }

// Clock is the process's gated clock: each wake-up of a sleep, timer or ticker is a step.
func (p *Process) Clock() clockwork.Clock { return p.clock }

// clock is a node's view of virtual time. Its timers are the standard library's, which are virtual in a
// bubble. A timer that fires arrives at a gate, and takes effect when the stepper grants it.
type clock struct {
	p *Process
	n map[string]int // timers made so far, counted by what they are, which gives them the same names in every run
}

func (c *clock) Now() time.Time { return instant(time.Now(), c.p.node.skew) }

// anchor has a monotonic reading, which the instants of a bubble lack.
var anchor = time.Now()

// instant returns now as read on a node whose wall clock is ahead by that much. The result has a monotonic
// reading, as in production. No call of package time sets the wall clock and the monotonic clock apart.
func instant(now time.Time, ahead time.Duration) time.Time {
	t := anchor.Add(now.Add(ahead).Sub(anchor.Round(0)))
	(*reading)(unsafe.Pointer(&t)).monotonic -= int64(ahead)
	return t
}

// reading is the layout of time.Time since Go 1.9. TestAClockThatIsSet fails if it changes.
type reading struct {
	wall      uint64
	monotonic int64
	loc       *time.Location
}

func (c *clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *clock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

func (c *clock) Sleep(d time.Duration) {
	select {
	case <-c.timer("sleep", d, 0, nil).c:
	case <-c.p.ctx.Done():
		runtime.Goexit()
	}
}

func (c *clock) After(d time.Duration) <-chan time.Time { return c.timer("after", d, 0, nil).c }

func (c *clock) NewTimer(d time.Duration) clockwork.Timer { return c.timer("timer", d, 0, nil) }

func (c *clock) NewTicker(d time.Duration) clockwork.Ticker {
	if d <= 0 {
		panic("sim: a ticker's period must be positive")
	}
	return ticker{c.timer("ticker", d, d, nil)}
}

func (c *clock) AfterFunc(d time.Duration, f func()) clockwork.Timer {
	return c.timer("afterfunc", d, 0, f)
}

// timer is a clockwork.Timer, or a ticker if its period is not 0. World.mu guards it.
type timer struct {
	clock  *clock
	name   string
	c      chan time.Time
	f      func()
	period time.Duration

	t       *time.Timer
	due     time.Duration // when it fires next, on the world's clock; a ticker keeps its beat, and skips ticks that it has missed
	armed   int           // how often it was armed or stopped; a fire compares it to know whether it still counts
	parked  *Op           // the operation of a fire that waits for its grant
	pending bool
}

func (c *clock) timer(kind string, d, period time.Duration, f func()) *timer {
	c.p.exitIfDead()
	w := c.p.node.world
	w.mu.Lock()
	defer w.mu.Unlock()
	name := kind + " " + d.String()
	c.n[name]++
	t := &timer{clock: c, name: name + " #" + strconv.Itoa(c.n[name]), c: make(chan time.Time, 1), f: f, period: period, due: w.Now()}
	t.arm(d)
	return t
}

func (t *timer) arm(d time.Duration) {
	t.pending = true
	t.armed++
	armed := t.armed
	t.due += d
	t.t = time.AfterFunc(max(0, t.due-t.clock.p.node.world.Now()), func() { t.arrive(armed) })
}

// arrive parks the fire of a timer that was neither stopped nor reset meanwhile.
func (t *timer) arrive(armed int) {
	p := t.clock.p
	w := p.node.world
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case t.armed != armed:
	case p.dead:
		t.wake(false)
	case w.cfg.Ungated:
		go t.wake(true)
	default:
		t.parked = &Op{Kind: KindTimer, Name: t.name, process: p, world: w, wake: t.wake, outcome: OutcomeOK}
		w.arrive(t.parked)
	}
}

// wake fires the timer. If its process is dead, it instead wakes the goroutine that waits for this timer
// alone, so that the goroutine ends at its next gate. Neither is a step. Its caller holds World.mu.
func (t *timer) wake(alive bool) {
	w := t.clock.p.node.world
	if !alive {
		t.ring(w.wall())
		return
	}
	w.mu.Lock()
	t.parked = nil
	if t.period > 0 {
		if missed := (w.Now() - t.due) / t.period; missed > 0 { // as the standard library's ticker does
			t.due += missed * t.period
		}
		t.arm(t.period)
	} else {
		t.pending = false
	}
	w.mu.Unlock()
	if t.f != nil {
		go t.f()
	} else {
		t.ring(t.clock.Now())
	}
}

func (t *timer) ring(now time.Time) {
	select {
	case t.c <- now:
	default:
	}
}

// stop withdraws the timer, and its fire if that is parked, and says whether the timer was pending. As in Go
// since 1.23, no stale value is left in its channel.
func (t *timer) stop() bool {
	was := t.pending
	t.pending = false
	t.armed++
	t.t.Stop()
	if t.parked != nil {
		t.parked.withdrawn = true
		t.parked = nil
	}
	select {
	case <-t.c:
	default:
	}
	return was
}

func (t *timer) Chan() <-chan time.Time { return t.c }

func (t *timer) Stop() bool {
	w := t.clock.p.node.world
	w.mu.Lock()
	defer w.mu.Unlock()
	return t.stop()
}

func (t *timer) Reset(d time.Duration) bool {
	w := t.clock.p.node.world
	w.mu.Lock()
	defer w.mu.Unlock()
	was := t.stop()
	t.due = w.Now()
	t.arm(d)
	return was
}

type ticker struct{ *timer }

func (t ticker) Stop() { t.timer.Stop() }

func (t ticker) Reset(d time.Duration) {
	if d <= 0 {
		panic("sim: a ticker's period must be positive")
	}
	w := t.clock.p.node.world
	w.mu.Lock()
	t.period = d
	w.mu.Unlock()
	t.timer.Reset(d)
}
