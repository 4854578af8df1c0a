package registry

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/faultline-sim/faultline/engine/job"
)

// MemoryRegistry keeps workers in memory. It is safe for concurrent use.
type MemoryRegistry struct {
	clock clockwork.Clock
	ttl   time.Duration

	mu       sync.Mutex
	workers  map[string]entry
	snapshot []job.Heartbeat // sorted; nil when a change has outdated it
}

type entry struct {
	heartbeat job.Heartbeat
	lastSeen  time.Time
	word      int64 // the last_seen of the snapshot that it was learned from; 0 if the worker was heard itself
	given     int   // jobs since then
}

// NewMemory returns an empty registry whose workers live for ttl after each heartbeat.
func NewMemory(clock clockwork.Clock, ttl time.Duration) *MemoryRegistry {
	return &MemoryRegistry{clock: clock, ttl: ttl, workers: map[string]entry{}}
}

// Heartbeat records that a worker lives, and what it says of itself.
func (r *MemoryRegistry) Heartbeat(h job.Heartbeat) {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.workers[h.WorkerID] = entry{heartbeat: h, lastSeen: now}
	r.snapshot = nil
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
			r.snapshot = nil
		}
	}
	slices.Sort(evicted)
	return evicted
}
