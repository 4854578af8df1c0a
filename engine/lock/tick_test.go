package lock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/phase"
)

// replicas are two tickers for one lock, that poll twice in a TTL.
func replicas(t *testing.T, keep lock.Keep) (h *harness, a, b *lock.Tick) {
	h = newHarness(t)
	h.phases = map[phase.Phase]int{}
	tick := func() *lock.Tick {
		return &lock.Tick{Locker: h.Locker, Key: key, TTL: ttl, Keep: keep, Acquire: phase.ReplayLock, Release: phase.SnapshotUnlock}
	}
	return h, tick(), tick()
}

// turn is one tick of a replica, if it gets the lock.
func turn(t *testing.T, k *lock.Tick) bool {
	t.Helper()
	if err := k.Begin(t.Context()); err != nil {
		require.True(t, errors.Is(err, lock.ErrBusy) || errors.Is(err, lock.ErrRests), "%v", err)
		return false
	}
	require.NoError(t, k.End(t.Context(), true))
	return true
}

// pass lets time go by, for Redis and for its clients.
func (h *harness) pass(d time.Duration) {
	h.clock.Advance(d)
	h.server.FastForward(d)
}

// Scheduler internals, section 8: only one replica ticks per TTL window.
func TestATickLockStaysUntilItExpires(t *testing.T) {
	h, a, b := replicas(t, lock.UntilExpiry)
	assert.True(t, turn(t, a))
	assert.False(t, turn(t, b))
	h.server.FastForward(ttl / 2)
	assert.False(t, turn(t, a), "against its own holder too")
	h.server.FastForward(ttl / 2)
	assert.True(t, turn(t, b))
}

func TestARenewedTickLockServesItsHolder(t *testing.T) {
	h, a, b := replicas(t, lock.Renewed)
	for range 4 {
		assert.True(t, turn(t, a))
		assert.Equal(t, ttl, h.server.TTL(key))
		h.server.FastForward(ttl / 2)
		assert.False(t, turn(t, b))
	}
	h.server.FastForward(ttl / 2) // a is gone
	assert.True(t, turn(t, b))
	assert.False(t, turn(t, a), "a comes back: the lock has passed to another")
	h.server.FastForward(ttl)
	assert.True(t, turn(t, a))
}

// A holder that cannot do what its ticks are for must not keep the others from it.
func TestAHolderWhoseTickWentIllLeavesItsLockToOthers(t *testing.T) {
	h, a, b := replicas(t, lock.Renewed)
	require.NoError(t, a.Begin(t.Context()))
	require.NoError(t, a.End(t.Context(), false))
	assert.Equal(t, ttl/2, h.server.TTL(key), "no other begins within a poll")
	asked := h.phases[phase.ReplayLock]
	h.pass(ttl / 2) // its beat comes first every time
	assert.ErrorIs(t, a.Begin(t.Context()), lock.ErrRests)
	assert.Equal(t, asked, h.phases[phase.ReplayLock], "it does not even ask")
	assert.True(t, turn(t, b))
	for range 3 {
		h.pass(ttl / 2)
		assert.False(t, turn(t, a), "the other does well")
		assert.True(t, turn(t, b))
	}
	h.pass(ttl)
	assert.True(t, turn(t, a), "the other is gone")
	h.pass(ttl / 2)
	assert.True(t, turn(t, a), "and it is well again")
}

// However the beats of two replicas lie, and however long the tick that went ill has lasted, the other has
// its turn before the first asks again.
func TestEachOtherReplicaHasItsTurnWhileOneRests(t *testing.T) {
	const n = 12 // grains of a poll
	for late := range n {
		for _, lasts := range []int{0, 1, 5, n - 1, n, n + 1, 3*n + 5} {
			h, a, b := replicas(t, lock.Renewed)
			ended, other := -1, -1
			for i := 0; other < 0; i++ {
				if i%n == 0 && (i == 0 || ended >= 0) {
					err := a.Begin(t.Context())
					require.Equal(t, i == 0, err == nil, "beats %d apart, a tick of %d: asks %d after it", late, lasts, i-ended)
				}
				if i == lasts {
					require.NoError(t, a.End(t.Context(), false))
					ended = i
				} else if ended < 0 {
					require.NoError(t, a.Hold(t.Context()))
				}
				if i%n == late && turn(t, b) {
					other = i
				}
				h.pass(ttl / 2 / n)
			}
			assert.GreaterOrEqual(t, other, n, "within a poll of the other's begin")
			assert.GreaterOrEqual(t, other-ended, n)
			assert.Less(t, other-ended, 2*n)
		}
	}
}

// Where there is no other it is one TTL and one poll from one tick to the next, and no more.
func TestAReplicaThatIsAloneRestsForATTLAndAPoll(t *testing.T) {
	h, a, _ := replicas(t, lock.Renewed)
	require.NoError(t, a.Begin(t.Context()))
	h.pass(ttl / 60) // a tick takes a moment
	require.NoError(t, a.End(t.Context(), false))
	h.pass(ttl/2 - ttl/60)
	assert.False(t, turn(t, a))
	h.pass(ttl / 2)
	assert.False(t, turn(t, a))
	h.pass(ttl / 2)
	assert.True(t, turn(t, a))
}

// A lock that cannot be given up early goes with its TTL.
func TestALockOfATickThatWentIllWithoutRedis(t *testing.T) {
	h, a, b := replicas(t, lock.Renewed)
	require.NoError(t, a.Begin(t.Context()))
	h.server.SetError("LOADING")
	assert.ErrorContains(t, a.End(t.Context(), false), "LOADING")
	h.server.SetError("")
	h.pass(ttl / 2)
	assert.False(t, turn(t, b))
	h.pass(ttl / 2)
	assert.True(t, turn(t, b))
}

func TestATickLockIsHeldWhileItsTickGoesOn(t *testing.T) {
	h, a, b := replicas(t, lock.Renewed)
	require.NoError(t, a.Begin(t.Context()))
	asked := h.phases[phase.ReplayLock]
	require.NoError(t, a.Hold(t.Context()))
	assert.Equal(t, asked, h.phases[phase.ReplayLock], "it is young")
	for range 6 {
		h.pass(ttl / 3)
		require.NoError(t, a.Hold(t.Context()))
		assert.Equal(t, ttl, h.server.TTL(key))
		assert.False(t, turn(t, b))
	}
	h.pass(ttl)
	require.True(t, turn(t, b))
	assert.ErrorIs(t, a.Hold(t.Context()), lock.ErrNotOwner)
	require.NoError(t, a.End(t.Context(), false))

	for _, keep := range []lock.Keep{lock.UntilExpiry, lock.Released} {
		h, a, _ := replicas(t, keep)
		require.NoError(t, a.Begin(t.Context()))
		h.pass(ttl)
		require.NoError(t, a.Hold(t.Context()), "its time is what it was given")
		assert.Empty(t, h.owner(t))
	}
}

func TestAReleasedTickLockIsForWhoeverComes(t *testing.T) {
	h, a, b := replicas(t, lock.Released)
	assert.True(t, turn(t, a))
	assert.Empty(t, h.owner(t))
	assert.True(t, turn(t, b))

	require.NoError(t, a.Begin(t.Context()))
	h.server.FastForward(ttl)
	require.NoError(t, b.Begin(t.Context()))
	assert.ErrorIs(t, a.End(t.Context(), true), lock.ErrNotOwner, "it overstayed")
	assert.NotEmpty(t, h.owner(t))
}

// The lock may have been taken all the same.
func TestATickLockOfUnknownFateIsOwnToItsNextTick(t *testing.T) {
	for keep, again := range map[lock.Keep]bool{lock.UntilExpiry: false, lock.Renewed: true} {
		h, a, _ := replicas(t, keep)
		h.lost = phase.ReplayLock
		require.ErrorContains(t, a.Begin(t.Context()), "injected")
		h.lost = ""
		assert.NotEmpty(t, h.owner(t))
		assert.Equal(t, again, turn(t, a))
	}
}

func TestARenewalOfATickLockThatFails(t *testing.T) {
	h, a, b := replicas(t, lock.Renewed)
	require.True(t, turn(t, a))
	h.server.SetError("LOADING")
	assert.ErrorContains(t, a.Begin(t.Context()), "LOADING")
	h.server.SetError("")
	assert.False(t, turn(t, b))
	assert.True(t, turn(t, a), "it is still its own")
}

func TestATickLockHasItsOwnPhases(t *testing.T) {
	h, a, _ := replicas(t, lock.Released)
	ctx := phase.With(t.Context(), "", phase.LockAcquire)
	require.NoError(t, a.Begin(ctx))
	require.NoError(t, a.End(ctx, true))
	assert.Equal(t, map[phase.Phase]int{phase.ReplayLock: 1, phase.SnapshotUnlock: 3}, h.phases)
	assert.Zero(t, h.waited.Load(), "job_lock_wait is of jobs' locks")
}
