package store

import (
	"container/list"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// Cache remembers what its own process last read or wrote of a job, for a caller that would rather
// decide by that than not at all when a read fails (State-read errors, cached-state fallback). It holds a
// bounded number of jobs for a bounded time. Nobody tells it what other processes write: what it
// says may be stale. It is safe for concurrent use.
type Cache struct {
	clock clockwork.Clock
	size  int
	age   time.Duration

	mu    sync.Mutex
	byID  map[string]*list.Element
	order *list.List // of *known, the oldest at the front
}

// Known is what a cache says of a job.
type Known struct {
	State    job.State
	Attempts int // as of the last read, or the last SCHEDULED write
	Decided  Decided
	Age      time.Duration
}

type known struct {
	jobID    string
	state    job.State
	attempts int
	decided  Decided
	at       time.Time
}

// NewCache returns an empty cache of at most size jobs, none of which it knows for longer than age.
func NewCache(clock clockwork.Clock, size int, age time.Duration) *Cache {
	return &Cache{clock: clock, size: size, age: age, byID: map[string]*list.Element{}, order: list.New()}
}

// Recall returns what is known of a job, or false if that is nothing, or too old.
func (c *Cache) Recall(jobID string) (Known, bool) {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trim(now)
	el, ok := c.byID[jobID]
	if !ok {
		return Known{}, false
	}
	k := el.Value.(*known)
	return Known{State: k.state, Attempts: k.attempts, Decided: k.decided, Age: now.Sub(k.at)}, true
}

// read remembers a record that was read.
func (c *Cache) read(r *Record) {
	c.remember(r.JobID, r.State, func(k *known) { k.attempts, k.decided = r.Attempts, r.Decided })
}

// wrote remembers a write that was confirmed.
func (c *Cache) wrote(w *Write, attempts int) {
	c.remember(w.JobID, w.To, func(k *known) {
		if w.To == job.Scheduled {
			k.attempts = attempts
		}
		if w.Decided != nil {
			k.decided = *w.Decided
		}
	})
}

func (c *Cache) remember(jobID string, state job.State, update func(*known)) {
	if c == nil {
		return
	}
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	k := &known{jobID: jobID}
	if el, ok := c.byID[jobID]; ok {
		*k = *el.Value.(*known)
		c.remove(el)
	}
	k.state, k.at = state, now
	update(k)
	c.byID[jobID] = c.order.PushBack(k)
	c.trim(now)
}

// forget drops a job whose state has become unknown.
func (c *Cache) forget(jobID string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.byID[jobID]; ok {
		c.remove(el)
	}
}

// trim drops what is too much or too old.
func (c *Cache) trim(now time.Time) {
	for el := c.order.Front(); el != nil; el = c.order.Front() {
		if c.order.Len() <= c.size && now.Sub(el.Value.(*known).at) <= c.age {
			return
		}
		c.remove(el)
	}
}

func (c *Cache) remove(el *list.Element) {
	delete(c.byID, c.order.Remove(el).(*known).jobID)
}
