package lock_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/phase"
)

const (
	key = "cordum:scheduler:job:job-1"
	ttl = 60 * time.Second
)

// harness is a locker on a Redis of its own, whose renewals and releases a test can watch and fail.
type harness struct {
	*lock.Locker
	t         *testing.T
	server    *miniredis.Miniredis
	clock     *clockwork.FakeClock
	renewed   chan phase.Tag // one for each renewal, once it is over
	failing   atomic.Bool    // renewals fail
	abandoned chan struct{}
	waited    atomic.Int32
	lost      phase.Phase         // its calls are applied, and answered with an error
	phases    map[phase.Phase]int // calls by phase, if it is not nil
}

func newHarness(t *testing.T) *harness {
	h := &harness{t: t, server: miniredis.RunT(t), clock: clockwork.NewFakeClock(), renewed: make(chan phase.Tag, 100), abandoned: make(chan struct{}, 100)}
	client := redis.NewClient(&redis.Options{Addr: h.server.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	client.AddHook(h)
	tokens := 0
	h.Locker = &lock.Locker{
		Redis: client, Clock: h.clock, Timeout: time.Minute, MaxRenewalFailures: 3,
		Token:     func(context.Context) string { tokens++; return "owner-" + strconv.Itoa(tokens) },
		Logger:    slog.New(slog.DiscardHandler),
		Waited:    func(time.Duration, bool) { h.waited.Add(1) },
		Abandoned: func() { h.abandoned <- struct{}{} },
	}
	return h
}

func (h *harness) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *harness) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h.count(ctx, cmd)
		if h.lost != "" && phase.From(ctx).Phase == h.lost && cmd.Name() == "set" {
			_ = next(ctx, cmd)
			cmd.SetErr(errors.New("injected"))
			return cmd.Err()
		}
		if phase.From(ctx).Phase != phase.LockRenew {
			return next(ctx, cmd)
		}
		if h.failing.Load() {
			cmd.SetErr(errors.New("injected"))
			h.renewed <- phase.From(ctx)
			return cmd.Err()
		}
		err := next(ctx, cmd)
		if err == nil { // not the NOSCRIPT before the EVAL
			h.renewed <- phase.From(ctx)
		}
		return err
	}
}

func (h *harness) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.count(ctx, cmds[0])
		return next(ctx, cmds)
	}
}

func (h *harness) count(ctx context.Context, cmd redis.Cmder) {
	switch cmd.Name() {
	case "hello", "client", "unwatch":
		return
	}
	if h.phases != nil {
		h.phases[phase.From(ctx).Phase]++
	}
}

// tick lets a third of the TTL pass, for the lock and for Redis, and waits for the renewal.
func (h *harness) tick() phase.Tag {
	h.server.FastForward(ttl / 3)
	h.clock.Advance(ttl / 3)
	return soon(h.t, h.renewed, "a renewal")
}

// soon is what comes over a channel. A test that waits in vain fails, and does not hang.
func soon[T any](t testing.TB, ch <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(20 * time.Second):
		require.FailNow(t, "it does not come: "+what)
	}
	return v
}

func (h *harness) owner(t *testing.T) string {
	t.Helper()
	if !h.server.Exists(key) {
		return ""
	}
	v, err := h.server.Get(key)
	require.NoError(t, err)
	return v
}

func TestJobKey(t *testing.T) { assert.Equal(t, key, lock.JobKey("job-1")) }

func TestAcquireRenewRelease(t *testing.T) {
	h := newHarness(t)
	k, err := h.TryAcquire(t.Context(), key, ttl)
	require.NoError(t, err)
	assert.Equal(t, "owner-1", h.owner(t))
	assert.Equal(t, ttl, h.server.TTL(key))

	_, err = h.TryAcquire(t.Context(), key, ttl)
	assert.ErrorIs(t, err, lock.ErrBusy)
	assert.EqualValues(t, 2, h.waited.Load(), "an attempt that fails counts too")

	h.server.FastForward(ttl / 2)
	require.NoError(t, k.Renew(t.Context()))
	assert.Equal(t, ttl, h.server.TTL(key))
	require.NoError(t, k.Release(t.Context()))
	assert.Empty(t, h.owner(t))
}

func TestOnlyTheOwnerRenewsAndReleases(t *testing.T) {
	h := newHarness(t)
	old, err := h.TryAcquire(t.Context(), key, ttl)
	require.NoError(t, err)
	h.server.FastForward(ttl)
	assert.ErrorIs(t, old.Renew(t.Context()), lock.ErrNotOwner, "expired")
	assert.ErrorIs(t, old.Release(t.Context()), lock.ErrNotOwner, "expired")

	_, err = h.TryAcquire(t.Context(), key, ttl)
	require.NoError(t, err)
	assert.ErrorIs(t, old.Renew(t.Context()), lock.ErrNotOwner)
	assert.ErrorIs(t, old.Release(t.Context()), lock.ErrNotOwner)
	assert.Equal(t, "owner-2", h.owner(t), "the successor's lock stays")
}

// takeover passes the lock to another owner between the look at it and its removal.
type takeover struct{ server *miniredis.Miniredis }

func (h takeover) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h takeover) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == "get" {
			_ = h.server.Set(key, "successor")
		}
		return err
	}
}

func (h takeover) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestReleaseDoesNotTakeTheSuccessorsLock(t *testing.T) {
	h := newHarness(t)
	k, err := h.TryAcquire(t.Context(), key, ttl)
	require.NoError(t, err)
	h.Redis.AddHook(takeover{h.server})
	assert.ErrorIs(t, k.Release(t.Context()), lock.ErrNotOwner)
	assert.Equal(t, "successor", h.owner(t))
}

func TestErrorsSurface(t *testing.T) {
	h := newHarness(t)
	k, err := h.TryAcquire(t.Context(), key, ttl)
	require.NoError(t, err)
	h.server.SetError("LOADING")
	_, err = h.TryAcquire(t.Context(), key, ttl)
	assert.ErrorContains(t, err, "LOADING")
	assert.NotErrorIs(t, err, lock.ErrBusy)
	assert.ErrorContains(t, k.Renew(t.Context()), "LOADING")
	assert.ErrorContains(t, k.Release(t.Context()), "LOADING")
}

// A holder knows by its own clock that its lock has run out, and by a renewal that it is another's.
func TestExpired(t *testing.T) {
	h := newHarness(t)
	k, err := h.TryAcquire(t.Context(), key, ttl)
	require.NoError(t, err)
	h.clock.Advance(ttl - 1)
	assert.False(t, k.Expired())
	require.NoError(t, k.Renew(t.Context()))
	h.clock.Advance(ttl - 1)
	assert.False(t, k.Expired())
	h.failing.Store(true)
	require.Error(t, k.Renew(t.Context()))
	assert.False(t, k.Expired(), "a renewal that failed says nothing")
	h.clock.Advance(1)
	assert.True(t, k.Expired())

	h.failing.Store(false)
	h.server.FlushAll()
	k, err = h.TryAcquire(t.Context(), key, ttl)
	require.NoError(t, err)
	require.NoError(t, h.server.Set(key, "another"))
	require.ErrorIs(t, k.Renew(t.Context()), lock.ErrNotOwner)
	assert.True(t, k.Expired())
}

func TestWithLockHoldsAndReleases(t *testing.T) {
	h := newHarness(t)
	failed := errors.New("failed")
	assert.Nil(t, lock.Held(t.Context()))
	err := h.WithLock(t.Context(), key, ttl, func(ctx context.Context) error {
		assert.Equal(t, "owner-1", h.owner(t))
		assert.Equal(t, key, lock.Held(ctx).Key())
		busy := h.WithLock(t.Context(), key, ttl, func(context.Context) error { panic("two holders") })
		assert.ErrorIs(t, busy, lock.ErrBusy)
		return failed
	})
	assert.ErrorIs(t, err, failed)
	assert.Empty(t, h.owner(t))
}

func TestWithLockRenewsPastTheTTL(t *testing.T) {
	h := newHarness(t)
	ctx := phase.With(t.Context(), "job-1", phase.LockAcquire)
	require.NoError(t, h.WithLock(ctx, key, ttl, func(context.Context) error {
		for range 6 {
			assert.Equal(t, phase.Tag{Job: "job-1", Phase: phase.LockRenew}, h.tick())
			assert.Equal(t, ttl, h.server.TTL(key))
		}
		return nil
	}))
	assert.Empty(t, h.owner(t))
	assert.Empty(t, h.renewed, "one every third of the TTL")
}

func TestRenewalIsAbandonedAfterThreeFailuresInARow(t *testing.T) {
	h := newHarness(t)
	var errs strings.Builder // what is logged as an error
	h.Logger = slog.New(slog.NewTextHandler(&errs, &slog.HandlerOptions{Level: slog.LevelError}))
	require.NoError(t, h.WithLock(t.Context(), key, ttl, func(ctx context.Context) error {
		h.failing.Store(true)
		h.tick()
		h.tick()
		h.failing.Store(false)
		h.server.Set(key, "owner-1") // expiry is not what this is about
		h.tick()                     // a success starts the count again
		h.failing.Store(true)
		for range 3 {
			assert.Empty(t, h.abandoned)
			h.tick()
		}
		soon(t, h.abandoned, "the renewal is abandoned")
		h.clock.Advance(ttl) // nobody listens any more
		assert.NoError(t, ctx.Err(), "who holds it goes on")
		return nil
	}))
	assert.Empty(t, h.renewed, "no renewal after the third failure")
	assert.Empty(t, h.abandoned)
	assert.Equal(t, 1, strings.Count(errs.String(), "lock renewal abandoned"))
}

func TestALockThatWasLostCountsAsAFailedRenewal(t *testing.T) {
	h := newHarness(t)
	require.NoError(t, h.WithLock(t.Context(), key, ttl, func(context.Context) error {
		require.NoError(t, h.server.Set(key, "successor"))
		for range 3 {
			h.tick()
		}
		soon(t, h.abandoned, "the renewal is abandoned")
		return nil
	}))
	assert.Equal(t, "successor", h.owner(t))
}

func TestRenewalIsDrainedBeforeTheRelease(t *testing.T) {
	h := newHarness(t)
	for range 20 {
		require.NoError(t, h.WithLock(t.Context(), key, ttl, func(context.Context) error {
			h.clock.Advance(ttl / 3) // the renewal races with the end of the function
			return nil
		}))
		assert.Empty(t, h.owner(t))
		for len(h.renewed) > 0 {
			<-h.renewed
		}
	}
	assert.Empty(t, h.abandoned)
}

// meanwhile is a hook whose renewals go on until they are called off, and which notes what ends before what begins.
type meanwhile struct {
	mu       sync.Mutex
	renewing chan struct{}
	order    []string
}

func (m *meanwhile) note(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.order = append(m.order, what)
}

func (m *meanwhile) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m *meanwhile) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if phase.From(ctx).Phase == phase.LockRelease && cmd.Name() == "watch" {
			m.note("release")
		}
		if phase.From(ctx).Phase != phase.LockRenew {
			return next(ctx, cmd)
		}
		close(m.renewing)
		<-ctx.Done()
		for range 1000 { // whoever does not wait for this comes first
			runtime.Gosched()
		}
		m.note("renewal over")
		return ctx.Err()
	}
}

func (m *meanwhile) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A renewal that is under way as the function ends is over before the lock is released.
func TestAReleaseWaitsForTheRenewal(t *testing.T) {
	h := newHarness(t)
	m := &meanwhile{renewing: make(chan struct{})}
	h.Redis.AddHook(m)
	require.NoError(t, h.WithLock(t.Context(), key, ttl, func(context.Context) error {
		h.clock.Advance(ttl / 3)
		<-m.renewing
		return nil
	}))
	assert.Equal(t, []string{"renewal over", "release"}, m.order)
}

func TestAnUnrenewedLockExpiresUnderItsHolder(t *testing.T) {
	h := newHarness(t)
	h.Unrenewed = true
	require.NoError(t, h.WithLock(t.Context(), key, ttl, func(context.Context) error {
		h.clock.Advance(ttl) // nobody listens
		h.server.FastForward(ttl)
		assert.Empty(t, h.owner(t))
		return nil
	}))
	assert.Empty(t, h.renewed)
}

func TestAnUncheckedReleaseTakesTheSuccessorsLock(t *testing.T) {
	h := newHarness(t)
	h.Unchecked = true
	old, err := h.TryAcquire(t.Context(), key, ttl)
	require.NoError(t, err)
	h.server.FastForward(ttl)
	_, err = h.TryAcquire(t.Context(), key, ttl)
	require.NoError(t, err)
	require.NoError(t, old.Release(t.Context()))
	assert.Empty(t, h.owner(t))
	h.server.SetError("LOADING")
	assert.ErrorContains(t, old.Release(t.Context()), "LOADING")
}

func TestWithLockSurvivesAFailedRelease(t *testing.T) {
	h := newHarness(t)
	require.NoError(t, h.WithLock(t.Context(), key, ttl, func(context.Context) error {
		h.server.SetError("LOADING")
		return nil
	}))
}
