package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/wavetank-sim/wavetank/engine/job"
)

// SnapshotKey is where a scheduler leaves what it knows of the workers, for one that starts (Scheduler internals,
// section 11).
const SnapshotKey = "sys:workers:snapshot"

// Snapshot is what one replica knew of the workers: the value at SnapshotKey, as JSON.
type Snapshot struct {
	WrittenAt int64  `json:"written_at"` // unix ms, by the clock of Redis or, without snapshot_last_seen, of the writer
	Workers   []Seen `json:"workers"`    // ordered by worker id
}

// Seen is one worker, and when it was last heard of.
type Seen struct {
	Heartbeat job.Heartbeat `json:"heartbeat"`
	LastSeen  int64         `json:"last_seen"` // unix ms, by the same clock
}

// ErrUnreadable is what the error is of a snapshot that is none.
var ErrUnreadable = errors.New("not a snapshot")

// Read reads the snapshot. Without one its error is [redis.Nil].
func Read(ctx context.Context, client redis.Cmdable) (s Snapshot, err error) {
	data, err := client.Get(ctx, SnapshotKey).Bytes()
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return Snapshot{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return s, nil
}

// Alive returns the workers that are not past their TTL. At is the time now, on the clock that the snapshot goes by.
func (r *MemoryRegistry) Alive(at time.Time) Snapshot {
	now := r.clock.Now()
	s := Snapshot{WrittenAt: at.UnixMilli(), Workers: []Seen{}}
	r.mu.Lock()
	for _, e := range r.workers {
		if age := now.Sub(e.lastSeen); age <= r.ttl {
			s.Workers = append(s.Workers, Seen{e.heartbeat, at.Add(-age).UnixMilli()})
		}
	}
	r.mu.Unlock()
	slices.SortFunc(s.Workers, func(a, b Seen) int { return cmp.Compare(a.Heartbeat.WorkerID, b.Heartbeat.WorkerID) })
	return s
}

// Hydrate takes in another replica's snapshot and returns how many workers it has learned of. What was
// heard from a worker itself is left alone until it is past the TTL, and so is what an earlier snapshot
// said unless this one has heard of the worker since. At is the time now, on the clock that the snapshot goes by: a worker
// counts as seen when the snapshot's writer last heard of it, and one that is past its TTL by that is left out. If at is zero, a
// worker counts as seen now, however old the snapshot, as the documents have it.
func (r *MemoryRegistry) Hydrate(s *Snapshot, at time.Time) (learned int) {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range s.Workers {
		seen := now
		if !at.IsZero() {
			seen = now.Add(-max(0, at.Sub(time.UnixMilli(w.LastSeen))))
		}
		e, known := r.workers[w.Heartbeat.WorkerID]
		stands := known && now.Sub(e.lastSeen) <= r.ttl && (e.word == 0 || e.word >= w.LastSeen)
		if stands || now.Sub(seen) > r.ttl || w.Heartbeat.Validate() != nil {
			continue
		}
		r.workers[w.Heartbeat.WorkerID] = entry{heartbeat: w.Heartbeat, lastSeen: seen, word: w.LastSeen}
		r.snapshot = nil
		learned++
	}
	return learned
}
