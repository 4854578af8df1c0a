package sim

import (
	"runtime"
	"strconv"
	"time"

	"github.com/jonboulle/clockwork"
)

// Skew is how a node's clock differs from the world's.
type Skew struct {
	Offset time.Duration // how far it is ahead
	PPM    int64         // how much faster it runs, in parts per million
}

// Skew sets the node's clock apart from the world's. It holds for timers set from now on.
func (n *Node) Skew(s Skew) { n.skew = s }

// Clock is the process's gated clock: whatever it wakes, it wakes by a step.
func (p *Process) Clock() clockwork.Clock { return p.clock }

// clock is a node's view of virtual time. Its timers are the standard library's, which are virtual
// in a bubble; when one fires it arrives at a gate, and the stepper lets it take effect.
type clock struct {
	p *Process
	n map[string]int // timers made so far, by what they are: names for them that every run shares
}

func (c *clock) Now() time.Time {
	w, s := c.p.node.world, c.p.node.skew
	elapsed, ppm := w.Now(), time.Duration(s.PPM)
	return w.start.Add(elapsed + s.Offset + elapsed/1_000_000*ppm + elapsed%1_000_000*ppm/1_000_000)
}

func (c *clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *clock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// world converts a duration on the node's clock to one on the world's.
func (c *clock) world(d time.Duration) time.Duration {
	ppm := time.Duration(c.p.node.skew.PPM)
	return d - time.Duration(float64(d)*float64(ppm)/float64(1_000_000+ppm))
}

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

// timer is a clockwork.Timer, or a ticker if it has a period. World.mu guards it.
type timer struct {
	clock  *clock
	name   string
	c      chan time.Time
	f      func()
	period time.Duration

	t       *time.Timer
	due     time.Duration // when it fires next, on the world's clock: a ticker keeps to its beat, and skips what it has missed
	armed   int           // how often it was armed or stopped, so that a fire knows whether it still counts
	parked  *Op           // fired, and waiting for its grant
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
	t.due += t.clock.world(d)
	t.t = time.AfterFunc(max(0, t.due-t.clock.p.node.world.Now()), func() { t.arrive(armed) })
}

// arrive parks the fire of a timer, unless it was stopped or reset meanwhile.
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

// wake fires the timer or, if its process is dead, wakes a goroutine that waits for nothing but this timer, so that it
// ends at its next gate. That is no step, and its caller holds World.mu.
func (t *timer) wake(alive bool) {
	w := t.clock.p.node.world
	if !alive {
		t.ring(w.start.Add(w.Now()))
		return
	}
	w.mu.Lock()
	t.parked = nil
	if t.period > 0 {
		if missed := (w.Now() - t.due) / t.clock.world(t.period); missed > 0 { // as the standard library's does
			t.due += missed * t.clock.world(t.period)
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

// stop withdraws the timer, its parked fire included, and says whether it was pending. As in Go
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
