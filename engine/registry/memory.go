package registry

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// MemoryRegistry keeps workers in memory. It is safe for concurrent use.
type MemoryRegistry struct {
	// Remember is how long it knows when it last heard of a worker that it has evicted; see Silence.
	Remember time.Duration

	clock clockwork.Clock
	ttl   time.Duration

	mu       sync.Mutex
	workers  map[string]entry
	snapshot []job.Heartbeat // sorted; nil when a change has outdated it

	heard   time.Time            // the last heartbeat of any worker
	hearing time.Time            // since when no TTL has passed without one
	evicted map[string]time.Time // when they were last heard of
}

type entry struct {
	heartbeat job.Heartbeat
	lastSeen  time.Time
	word      int64 // the last_seen of the snapshot that it was learned from; 0 if the worker was heard itself
	given     int   // jobs since then
}

// NewMemory returns an empty registry whose workers live for ttl after each heartbeat.
func NewMemory(clock clockwork.Clock, ttl time.Duration) *MemoryRegistry {
	return &MemoryRegistry{clock: clock, ttl: ttl, workers: map[string]entry{}, evicted: map[string]time.Time{}}
}

// Heartbeat records that a worker lives, and what it says of itself.
func (r *MemoryRegistry) Heartbeat(h job.Heartbeat) {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.workers[h.WorkerID] = entry{heartbeat: h, lastSeen: now}
	r.snapshot = nil
	if now.Sub(r.heard) > r.ttl {
		r.hearing = now
	}
	r.heard = now
	delete(r.evicted, h.WorkerID)
}

// Silence is for how long nothing was heard of a worker although others were: 0 until its TTL has passed.
// It does not go back beyond the time since when heartbeats have come all along, and is 0 while none do:
// who has just started, stood still or was cut off cannot tell.
func (r *MemoryRegistry) Silence(workerID string) time.Duration {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.evicted[workerID]
	if e, ok := r.workers[workerID]; ok {
		last = e.lastSeen
	}
	if last.Before(r.hearing) {
		last = r.hearing
	}
	if silent := now.Sub(last); silent > r.ttl && now.Sub(r.heard) <= r.ttl {
		return silent
	}
	return 0
}

// Give notes that a job was dispatched to the worker, of which its last heartbeat knows nothing.
func (r *MemoryRegistry) Give(workerID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.workers[workerID]; ok {
		e.given++
		r.workers[workerID] = e
	}
}

// Given is how many jobs were dispatched to the worker since its last heartbeat.
func (r *MemoryRegistry) Given(workerID string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.workers[workerID].given
}

// IsAlive says whether the worker's last heartbeat is no older than the TTL.
func (r *MemoryRegistry) IsAlive(workerID string) bool {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.workers[workerID]
	return ok && now.Sub(e.lastSeen) <= r.ttl
}

// AnyAlive says whether the last heartbeat of some worker is no older than the TTL.
func (r *MemoryRegistry) AnyAlive() bool {
	ages := r.Ages()
	return len(ages) > 0 && ages[0] <= r.ttl
}

// Snapshot returns the last heartbeat of every worker not yet evicted, ordered by worker id. It is
// shared between callers: do not modify it.
func (r *MemoryRegistry) Snapshot() []job.Heartbeat {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.snapshot == nil {
		r.snapshot = make([]job.Heartbeat, 0, len(r.workers))
		for _, e := range r.workers {
			r.snapshot = append(r.snapshot, e.heartbeat)
		}
		slices.SortFunc(r.snapshot, func(a, b job.Heartbeat) int { return cmp.Compare(a.WorkerID, b.WorkerID) })
	}
	return r.snapshot
}

// Ages is how long ago each worker that is not yet evicted was last heard of, the least first.
func (r *MemoryRegistry) Ages() []time.Duration {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	ages := make([]time.Duration, 0, len(r.workers))
	for _, e := range r.workers {
		ages = append(ages, now.Sub(e.lastSeen))
	}
	slices.Sort(ages)
	return ages
}

// Sweep evicts the workers that are past their TTL and returns their ids in order.
func (r *MemoryRegistry) Sweep() []string {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	var evicted []string
	for id, e := range r.workers {
		if now.Sub(e.lastSeen) > r.ttl {
			delete(r.workers, id)
			evicted = append(evicted, id)
			r.evicted[id] = e.lastSeen
			r.snapshot = nil
		}
	}
	maps.DeleteFunc(r.evicted, func(_ string, last time.Time) bool { return now.Sub(last) > r.Remember })
	slices.Sort(evicted)
	return evicted
}
