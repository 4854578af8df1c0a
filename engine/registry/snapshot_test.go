package registry_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/registry"
)

func TestASnapshotHoldsTheLivingInOrder(t *testing.T) {
	clock := clockwork.NewFakeClockAt(time.UnixMilli(1_700_000_000_000))
	r := registry.NewMemory(clock, ttl)
	data, err := json.Marshal(r.Alive(clock.Now()))
	require.NoError(t, err)
	assert.JSONEq(t, `{"written_at": 1700000000000, "workers": []}`, string(data))

	r.Heartbeat(job.Heartbeat{WorkerID: "dead"})
	clock.Advance(ttl)
	r.Heartbeat(job.Heartbeat{WorkerID: "worker-2", Pool: "default"})
	clock.Advance(time.Second) // dead is past its TTL, and not swept yet
	r.Heartbeat(job.Heartbeat{WorkerID: "worker-1", Pool: "gpu", MaxParallelJobs: 4})
	data, err = json.Marshal(r.Alive(clock.Now()))
	require.NoError(t, err)
	assert.JSONEq(t, `{"written_at": 1700000031000, "workers": [
		{"heartbeat": {"worker_id": "worker-1", "pool": "gpu", "active_jobs": 0, "max_parallel_jobs": 4, "cpu_load": 0}, "last_seen": 1700000031000},
		{"heartbeat": {"worker_id": "worker-2", "pool": "default", "active_jobs": 0, "max_parallel_jobs": 0, "cpu_load": 0}, "last_seen": 1700000030000}
	]}`, string(data))
}

func seen(id string, at time.Time) registry.Seen {
	return registry.Seen{Heartbeat: job.Heartbeat{WorkerID: id}, LastSeen: at.UnixMilli()}
}

// on is now on the snapshot's clock, if anybody asks for that.
func on(clock clockwork.Clock, trusted bool) time.Time {
	if !trusted {
		return time.Time{}
	}
	return clock.Now()
}

// Who writes a snapshot and who reads it need not agree on the time.
func TestASnapshotTellsTimesByAClockOfItsOwn(t *testing.T) {
	writers, readers := clockwork.NewFakeClockAt(time.UnixMilli(1_700_000_000_000)), clockwork.NewFakeClockAt(time.UnixMilli(1_600_000_000_000))
	redis := time.UnixMilli(1_800_000_000_000)
	writer, reader := registry.NewMemory(writers, ttl), registry.NewMemory(readers, ttl)
	writer.Heartbeat(job.Heartbeat{WorkerID: "worker-1"})
	writers.Advance(20 * time.Second)
	s := writer.Alive(redis)
	assert.Zero(t, reader.Hydrate(&s, redis.Add(ttl-19*time.Second)), "it is past its TTL by now")
	assert.Equal(t, 1, reader.Hydrate(&s, redis.Add(ttl-21*time.Second)))
	readers.Advance(2 * time.Second)
	assert.False(t, reader.IsAlive("worker-1"))
}

func TestHydrate(t *testing.T) {
	for name, c := range map[string]struct {
		trusted      bool
		learned      int
		after, later []string // alive at once, and 25 s later
	}{
		"documented: seen now":                       {false, 3, []string{"ahead", "live", "old", "young"}, []string{"ahead", "live", "old", "young"}},
		"seen when the snapshot's writer last heard": {true, 2, []string{"ahead", "live", "young"}, []string{"ahead", "live"}},
	} {
		clock := clockwork.NewFakeClock()
		r := registry.NewMemory(clock, ttl)
		r.Heartbeat(job.Heartbeat{WorkerID: "live", ActiveJobs: 5})
		now := clock.Now()
		learned := r.Hydrate(&registry.Snapshot{Workers: []registry.Seen{
			seen("ahead", now.Add(time.Hour)), // its writer's clock is
			seen("live", now.Add(-time.Hour)),
			seen("old", now.Add(-ttl-time.Millisecond)),
			seen("young", now.Add(-10*time.Second)),
			seen("", now),
		}}, on(clock, c.trusted))
		assert.Equal(t, c.learned, learned, name)
		alive := func() (alive []string) {
			for _, id := range []string{"ahead", "live", "old", "young"} {
				if r.IsAlive(id) {
					alive = append(alive, id)
				}
			}
			return alive
		}
		assert.Equal(t, c.after, alive(), name)
		assert.Equal(t, c.after, ids(r.Snapshot()), name)
		assert.Equal(t, 5, r.Snapshot()[1].ActiveJobs, "%s: a live heartbeat takes precedence", name)
		clock.Advance(25 * time.Second)
		assert.Equal(t, c.later, alive(), name)
		clock.Advance(ttl)
		assert.Len(t, r.Sweep(), len(c.after), "%s: nobody lives on by a snapshot", name)
	}
}

// An engine that is run a second time starts warm again.
func TestHydrateAgain(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		clock := clockwork.NewFakeClockAt(time.UnixMilli(1_700_000_000_000))
		r := registry.NewMemory(clock, ttl)
		snapshot := func(activeJobs int) *registry.Snapshot {
			w := seen("worker-1", clock.Now())
			w.Heartbeat.ActiveJobs = activeJobs
			return &registry.Snapshot{Workers: []registry.Seen{w}}
		}
		first := snapshot(1)
		assert.Equal(t, 1, r.Hydrate(first, on(clock, trusted)))
		clock.Advance(20 * time.Second)
		assert.Zero(t, r.Hydrate(first, on(clock, trusted)), "it says nothing new")
		assert.Equal(t, 1, r.Hydrate(snapshot(2), on(clock, trusted)))
		clock.Advance(20 * time.Second)
		assert.True(t, r.IsAlive("worker-1"))
		assert.Equal(t, 2, r.Snapshot()[0].ActiveJobs)
		assert.Zero(t, r.Hydrate(first, on(clock, trusted)), "it is the older one")
		clock.Advance(20 * time.Second)
		assert.False(t, r.IsAlive("worker-1"))
		assert.Equal(t, 1, r.Hydrate(snapshot(3), on(clock, trusted)), "past its TTL, and not swept yet")
		assert.True(t, r.IsAlive("worker-1"))

		r.Heartbeat(job.Heartbeat{WorkerID: "worker-1", ActiveJobs: 4})
		clock.Advance(time.Second)
		assert.Zero(t, r.Hydrate(snapshot(5), on(clock, trusted)), "its own word takes precedence")
		assert.Equal(t, 4, r.Snapshot()[0].ActiveJobs)
		clock.Advance(ttl)
		assert.Equal(t, 1, r.Hydrate(snapshot(6), on(clock, trusted)), "until it is too old")
	}
}
