package registry_test

import (
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/registry"
)

const ttl = 30 * time.Second

func ids(workers []job.Heartbeat) (out []string) {
	for _, w := range workers {
		out = append(out, w.WorkerID)
	}
	return out
}

func TestMemoryRegistry_IsAlive(t *testing.T) {
	clock := clockwork.NewFakeClock()
	r := registry.NewMemory(clock, ttl)
	assert.False(t, r.IsAlive("worker-1"), "never heard of")
	r.Heartbeat(job.Heartbeat{WorkerID: "worker-1"})
	assert.True(t, r.IsAlive("worker-1"))
	clock.Advance(ttl)
	assert.True(t, r.IsAlive("worker-1"), "at the TTL, not past it")
	clock.Advance(1)
	assert.False(t, r.IsAlive("worker-1"))
	r.Heartbeat(job.Heartbeat{WorkerID: "worker-1"})
	assert.True(t, r.IsAlive("worker-1"), "back again")
	clock.Advance(ttl)
	r.Heartbeat(job.Heartbeat{WorkerID: "worker-1"})
	clock.Advance(ttl)
	assert.True(t, r.IsAlive("worker-1"), "the last heartbeat counts")
	assert.False(t, r.IsAlive("worker-2"), "nothing is known of it, however well the others are")
	clock.Advance(1)
	r.Heartbeat(job.Heartbeat{WorkerID: "worker-3"})
	r.Sweep()
	assert.False(t, r.IsAlive("worker-1"), "it was swept")
}

func TestMemoryRegistry_ExpiresStaleWorkers(t *testing.T) {
	clock := clockwork.NewFakeClock()
	r := registry.NewMemory(clock, ttl)
	r.Heartbeat(job.Heartbeat{WorkerID: "worker-2"})
	r.Give("worker-2")
	r.Hydrate(&registry.Snapshot{Workers: []registry.Seen{{Heartbeat: job.Heartbeat{WorkerID: "worker-3", Pool: "default"}, LastSeen: clock.Now().UnixMilli()}}}, time.Time{})
	clock.Advance(ttl)
	r.Heartbeat(job.Heartbeat{WorkerID: "worker-1"})
	assert.Empty(t, r.Sweep(), "at the TTL, not past it")
	clock.Advance(1)
	assert.Equal(t, []string{"worker-1", "worker-2", "worker-3"}, ids(r.Snapshot()), "stale workers stay until a sweep")
	assert.False(t, r.IsAlive("worker-2"))
	assert.Equal(t, []string{"worker-2", "worker-3"}, r.Sweep())
	assert.Equal(t, []string{"worker-1"}, ids(r.Snapshot()))
	assert.Empty(t, r.Sweep())
}

func TestAgesCountFromEachWorkersOwnHeartbeat(t *testing.T) {
	clock := clockwork.NewFakeClock()
	r := registry.NewMemory(clock, ttl)
	assert.Empty(t, r.Ages())
	r.Heartbeat(job.Heartbeat{WorkerID: "worker-1"})
	clock.Advance(7 * time.Second)
	r.Heartbeat(job.Heartbeat{WorkerID: "worker-2"})
	clock.Advance(2 * time.Second)
	assert.Equal(t, []time.Duration{2 * time.Second, 9 * time.Second}, r.Ages())
}

func TestWhatAWorkerWasGivenIsOfItsLastHeartbeat(t *testing.T) {
	clock := clockwork.NewFakeClock()
	r := registry.NewMemory(clock, ttl)
	r.Give("worker-1")
	assert.Zero(t, r.Given("worker-1"), "nobody has heard of it")
	r.Heartbeat(job.Heartbeat{WorkerID: "worker-1"})
	r.Give("worker-1")
	r.Give("worker-1")
	assert.Equal(t, 2, r.Given("worker-1"))
	assert.Len(t, r.Snapshot(), 1, "it is no worker of its own")
	r.Heartbeat(job.Heartbeat{WorkerID: "worker-1", ActiveJobs: 2})
	assert.Zero(t, r.Given("worker-1"), "its heartbeat counts them")
}

func TestSnapshotIsOrderedAndKeepsTheLastHeartbeat(t *testing.T) {
	r := registry.NewMemory(clockwork.NewFakeClock(), ttl)
	assert.Empty(t, r.Snapshot())
	for _, id := range []string{"worker-3", "worker-1", "worker-2"} {
		r.Heartbeat(job.Heartbeat{WorkerID: id})
	}
	before := r.Snapshot()
	r.Heartbeat(job.Heartbeat{WorkerID: "worker-2", ActiveJobs: 7})
	after := r.Snapshot()
	assert.Equal(t, []string{"worker-1", "worker-2", "worker-3"}, ids(after))
	assert.Equal(t, 7, after[1].ActiveJobs)
	assert.Zero(t, before[1].ActiveJobs, "an older snapshot does not change")
}

// beats lets d pass with a heartbeat of the worker every ten seconds.
func beats(r *registry.MemoryRegistry, clock *clockwork.FakeClock, d time.Duration, worker string) {
	for range d / (10 * time.Second) {
		clock.Advance(10 * time.Second)
		r.Heartbeat(job.Heartbeat{WorkerID: worker})
	}
}

func TestSilence(t *testing.T) {
	clock := clockwork.NewFakeClock()
	r := registry.NewMemory(clock, ttl)
	r.Remember = 10 * time.Minute
	assert.Zero(t, r.Silence("worker-1"), "nobody was heard of yet")
	r.Heartbeat(job.Heartbeat{WorkerID: "worker-1"})
	r.Heartbeat(job.Heartbeat{WorkerID: "worker-2"})
	beats(r, clock, ttl, "worker-2")
	assert.Zero(t, r.Silence("worker-1"), "at the TTL, not past it")
	beats(r, clock, time.Minute, "worker-2")
	assert.Equal(t, ttl+time.Minute, r.Silence("worker-1"))
	assert.Zero(t, r.Silence("worker-2"))
	assert.Equal(t, ttl+time.Minute, r.Silence("worker-3"), "since it listens, nobody has heard of that one")
	assert.Equal(t, []string{"worker-1"}, r.Sweep())
	assert.Equal(t, ttl+time.Minute, r.Silence("worker-1"), "it is remembered")

	clock.Advance(ttl + 1)
	assert.Zero(t, r.Silence("worker-1"), "now nobody is heard of: it may be this replica that is cut off")
	beats(r, clock, time.Minute, "worker-2")
	assert.Equal(t, 50*time.Second, r.Silence("worker-1"), "and begins to listen anew")

	r.Heartbeat(job.Heartbeat{WorkerID: "worker-1"})
	assert.Zero(t, r.Silence("worker-1"))
	for range 20 {
		beats(r, clock, time.Minute, "worker-2")
		r.Sweep()
	}
	assert.GreaterOrEqual(t, r.Silence("worker-1"), 20*time.Minute, "forgotten, since it has been silent for longer than anybody asks")
}
