package engine

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/registry"
	"github.com/wavetank-sim/wavetank/engine/routing"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// Scheduler internals, section 8, snapshot writer lock.
func TestTheSnapshotIsWrittenUnderItsLock(t *testing.T) {
	h := newHarness(t)
	require.NoError(t, h.writeSnapshot(t.Context(), h.snapshotLock()))
	assert.Empty(t, h.faults.calls, "a replica that knows nobody has nothing to say")

	h.worker("worker-1")
	require.NoError(t, h.writeSnapshot(t.Context(), h.snapshotLock()))
	assert.Equal(t, []string{
		"snapshot_lock set", "snapshot_write set", "snapshot_unlock watch", "snapshot_unlock get", "snapshot_unlock multi",
	}, h.faults.calls)
	data, err := h.redis.Get("sys:workers:snapshot")
	require.NoError(t, err)
	var s registry.Snapshot
	require.NoError(t, json.Unmarshal([]byte(data), &s))
	assert.Equal(t, h.clock.Now().UnixMilli(), s.WrittenAt)
	require.Len(t, s.Workers, 1)
	assert.Equal(t, "worker-1", s.Workers[0].Heartbeat.WorkerID)
	assert.False(t, h.redis.Exists("cordum:scheduler:snapshot:writer"))

	h.faults.calls = nil
	h.faults.on(phase.SnapshotLock, "before")
	assert.ErrorIs(t, h.writeSnapshot(t.Context(), h.snapshotLock()), errInjected)
	assert.Equal(t, []string{"snapshot_lock set"}, h.faults.calls, "who cannot ask for the lock does not hold it")

	h.faults.on(phase.SnapshotWrite, "before")
	assert.ErrorIs(t, h.writeSnapshot(t.Context(), h.snapshotLock()), errInjected)
	assert.False(t, h.redis.Exists("cordum:scheduler:snapshot:writer"), "it is given back all the same")

	_ = h.redis.Set("cordum:scheduler:snapshot:writer", "another")
	assert.ErrorIs(t, h.writeSnapshot(t.Context(), h.snapshotLock()), lock.ErrBusy)
	h.settings.SnapshotLock = false
	h.faults.calls = nil
	require.NoError(t, h.writeSnapshot(t.Context(), h.snapshotLock()))
	assert.Equal(t, []string{"snapshot_write set"}, h.faults.calls)
}

// With a fence the write gives the lock back.
func TestTheSnapshotsLockGoesWithItsWrite(t *testing.T) {
	const lockKey = "cordum:scheduler:snapshot:writer"
	for failure, want := range map[string][]string{
		"":       {"snapshot_lock set", "snapshot_write watch", "snapshot_write get", "snapshot_write multi"},
		"before": {"snapshot_lock set", "snapshot_write watch", "snapshot_unlock watch", "snapshot_unlock get", "snapshot_unlock multi"},
	} {
		h := newHarness(t, func(s *settings.Settings) { s.Fence = true })
		h.worker("worker-1")
		if failure != "" {
			h.faults.on(phase.SnapshotWrite, failure)
		}
		err := h.writeSnapshot(t.Context(), h.snapshotLock())
		assert.Equal(t, failure != "", err != nil, failure)
		assert.Equal(t, want, h.faults.calls, failure)
		assert.False(t, h.redis.Exists(lockKey), failure)
		assert.Equal(t, failure == "", h.redis.Exists("sys:workers:snapshot"), failure)
	}
}

// A writer that overstayed its lock changes nothing; a late EXEC meets what its connection watches. What is there before the writer
// looks at its workers is older than what it writes, whatever it says of when it was written.
func TestTheFenceKeepsTheNewestSnapshot(t *testing.T) {
	const lockKey = "cordum:scheduler:snapshot:writer"
	another := func(h *harness) { h.leave(-time.Hour) }
	for name, c := range map[string]struct {
		meanwhile func(*harness)
		change    func(*settings.Settings)
		written   bool
	}{
		"nothing happens":          {meanwhile: func(*harness) {}, written: true},
		"another one is there":     {meanwhile: another, written: true},
		"another one, and no lock": {meanwhile: another, change: func(s *settings.Settings) { s.SnapshotLock = false }, written: true},
		"one that nobody can read": {meanwhile: func(h *harness) { _ = h.redis.Set("sys:workers:snapshot", "{") }, written: true},
		"the lock has expired":     {meanwhile: func(h *harness) { h.redis.Del(lockKey) }},
		"the lock is another's":    {meanwhile: func(h *harness) { _ = h.redis.Set(lockKey, "another") }},
	} {
		h := newHarness(t, func(s *settings.Settings) {
			s.Fence = true
			if c.change != nil {
				c.change(s)
			}
		})
		h.worker("worker-1")
		var before string
		h.faults.first[phase.SnapshotWrite] = func() {
			c.meanwhile(h)
			before, _ = h.redis.Get("sys:workers:snapshot")
		}
		err := h.writeSnapshot(t.Context(), h.snapshotLock())
		after, _ := h.redis.Get("sys:workers:snapshot")
		if c.written {
			require.NoError(t, err, name)
			assert.NotEqual(t, before, after, name)
		} else {
			require.ErrorIs(t, err, store.ErrFenced, name)
			assert.Equal(t, before, after, name)
		}
	}
}

// What comes between the look and the EXEC is seen too.
func TestTheFenceStopsASnapshotThatLosesARace(t *testing.T) {
	for name, meanwhile := range map[string]func(*harness){
		"the snapshot": func(h *harness) { h.leave(time.Second) },
		"the lock":     func(h *harness) { h.redis.Del("cordum:scheduler:snapshot:writer") },
	} {
		h := newHarness(t, func(s *settings.Settings) { s.Fence = true })
		h.worker("worker-1")
		h.store.Redis.AddHook(&afterLook{do: func() { meanwhile(h) }})
		require.ErrorIs(t, h.writeSnapshot(t.Context(), h.snapshotLock()), store.ErrFenced, name)
	}
}

// afterLook runs once, after the first plain pipeline.
type afterLook struct{ do func() }

func (l *afterLook) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (l *afterLook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (l *afterLook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if do := l.do; do != nil && cmds[0].Name() == "get" {
			l.do = nil
			do()
		}
		return err
	}
}

// leave puts a snapshot there that another replica has written, of one worker that it heard of then.
func (h *harness) leave(ago time.Duration) {
	h.t.Helper()
	at := h.clock.Now().Add(-ago).UnixMilli()
	data, err := json.Marshal(registry.Snapshot{WrittenAt: at, Workers: []registry.Seen{
		{Heartbeat: job.Heartbeat{WorkerID: "worker-1", Pool: "default"}, LastSeen: at},
	}})
	require.NoError(h.t, err)
	require.NoError(h.t, h.redis.Set("sys:workers:snapshot", string(data)))
}

// Scheduler internals, section 11: a new replica dispatches before it has heard any heartbeat.
func TestRunStartsWarm(t *testing.T) {
	h := newHarness(t)
	at := h.clock.Now().Add(-time.Second).UnixMilli()
	data, err := json.Marshal(registry.Snapshot{WrittenAt: at, Workers: []registry.Seen{
		{Heartbeat: job.Heartbeat{WorkerID: "worker-1", Pool: "default", ActiveJobs: 1, MaxParallelJobs: 1}, LastSeen: at}, {Heartbeat: job.Heartbeat{WorkerID: "worker-2", Pool: "default"}, LastSeen: at},
	}})
	require.NoError(t, err)
	require.NoError(t, h.redis.Set("sys:workers:snapshot", string(data)))
	h.submit()
	h.faults.atFirst(phase.SnapshotRead, func() { time.Sleep(50 * time.Millisecond) }) // the job waits for what it says
	stop := h.run()
	h.logs.await("job dispatched")
	require.NoError(t, stop())
	assert.Equal(t, 1, h.record().Attempts, "it went back for want of workers before they were known")
	assert.True(t, h.logged("warm start", `"workers":2`))
	assert.Len(t, h.registry.Snapshot(), 2)
	require.Len(t, h.dispatches(), 1)
	assert.Equal(t, "worker-2", h.record().Worker, "the snapshot says that worker-1 is busy")
}

func TestAnOldSnapshot(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*settings.Settings)
		revive bool
	}{
		"documented":         {func(*settings.Settings) {}, true},
		"snapshot_last_seen": {func(s *settings.Settings) { s.SnapshotLastSeen = true }, false},
		"no warm start":      {func(s *settings.Settings) { s.WarmStart = false }, false},
	} {
		h := newHarness(t, c.change)
		h.leave(31 * time.Second)
		h.warmStart(t.Context())
		assert.Equal(t, c.revive, h.registry.IsAlive("worker-1"), name)
	}
}

func TestAStartWithoutASnapshotIsCold(t *testing.T) {
	for name, spoil := range map[string]func(*harness){
		"none":     func(*harness) {},
		"corrupt":  func(h *harness) { _ = h.redis.Set("sys:workers:snapshot", "{") },
		"no Redis": func(h *harness) { h.leave(0); h.faults.on(phase.SnapshotRead, "before") },
	} {
		h := newHarness(t)
		spoil(h)
		h.warmStart(t.Context())
		assert.Empty(t, h.registry.Snapshot(), name)
		assert.True(t, h.logged("cold start", "WARN"), name)

		retry := h.retry(h.handle(h.submit()))
		assert.ErrorIs(t, retry, routing.ErrNoWorkers, name)
		assert.Equal(t, "no_workers", retry.ReasonCode, name)
	}
}

func TestRunWritesSnapshots(t *testing.T) {
	h := newHarness(t)
	stop := h.run()
	require.NoError(t, h.clock.BlockUntilContext(t.Context(), loops))
	h.worker("worker-1")
	_ = h.redis.Set("cordum:scheduler:snapshot:writer", "another")
	asked := make(chan struct{}, 1)
	h.faults.atFirst(phase.SnapshotLock, func() { asked <- struct{}{} })
	h.clock.Advance(h.settings.SnapshotEvery - 1)
	select {
	case <-asked:
		assert.Fail(t, "a snapshot before its time")
	case <-time.After(20 * time.Millisecond):
	}
	h.clock.Advance(1)
	soon(t, asked, "the tick is another's")
	h.faults.atFirst(phase.SnapshotLock, func() { h.redis.Del("cordum:scheduler:snapshot:writer") }) // the tick before is over by then
	h.faults.on(phase.SnapshotWrite, "after")
	h.clock.Advance(h.settings.SnapshotEvery)
	h.logs.await("snapshot not written")
	require.NoError(t, stop())
	assert.True(t, h.redis.Exists("sys:workers:snapshot"))
	assert.Equal(t, 1, strings.Count(h.logs.String(), `"msg":"snapshot`), "who skips a tick does so without a word")
	assert.Equal(t, 2, strings.Count(strings.Join(h.faults.calls, "\n"), "snapshot_lock"), "and does not ask again")
}
