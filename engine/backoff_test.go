package engine

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// Scheduler internals, section 5: min(base * 2^attempt + jitter, max), 1 s to 30 s.
func TestBackoffDelay(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		attempt      int
		jitter, want time.Duration
	}{
		{0, 0, 1000 * ms}, {0, 499 * ms, 1499 * ms}, {1, 0, 2000 * ms}, {2, 0, 4000 * ms}, {3, 0, 8000 * ms}, {4, 250 * ms, 16250 * ms},
		{5, 0, 30000 * ms}, {5, 499 * ms, 30000 * ms}, {50, 0, 30000 * ms}, {math.MaxInt, 499 * ms, 30000 * ms},
	} {
		assert.Equal(t, c.want, backoffDelay(c.attempt, time.Second, c.jitter, 30*time.Second), "attempt %d", c.attempt)
	}
}

func TestBackoffBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "limit"))
		base := time.Duration(rapid.Int64Range(1, int64(limit)).Draw(t, "base"))
		bound := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "bound"))
		attempt := rapid.IntRange(0, 10_000).Draw(t, "attempt")
		j := jitter(rapid.Uint64().Draw(t, "random"), bound)
		require.True(t, 0 <= j && (j < bound || bound == 0), "jitter %d of [0, %d)", j, bound)

		got := backoffDelay(attempt, base, j, limit)
		require.LessOrEqual(t, base, got)
		require.LessOrEqual(t, got, limit)
		require.LessOrEqual(t, got, backoffDelay(attempt+1, base, j, limit), "it does not shrink")
		plain := backoffDelay(attempt, base, 0, limit)
		require.LessOrEqual(t, got-plain, j, "jitter adds no more than itself")
		if exact := math.Ldexp(float64(base), attempt); exact < float64(limit)/2 {
			require.Equal(t, base<<attempt, plain)
		}
	})
}

// What a job is put off for decides how its delay grows, and with even_backoff each attempt is worth its own.
func TestSchedulingDelays(t *testing.T) {
	documented, hardened := settings.Documented(), settings.Hardened()
	for _, c := range []struct {
		code                 string
		prior, spent         int
		documented, hardened time.Duration
	}{
		{"no_workers", 0, 1, 2, 2}, {"no_workers", 3, 4, 2, 16}, {"no_workers", 49, 50, 2, 30}, {"stale_worker", 2, 3, 2, 8},
		{"pool_overloaded", 0, 1, 1, 1}, {"pool_overloaded", 4, 5, 16, 16}, {"tenant_limit", 4, 5, 16, 16},
		{"dispatch_failed", 0, 1, 1, 1}, {"dispatch_failed", 0, 2, 1, 3}, {"dispatch_failed", 4, 6, 16, 46}, {"dispatch_failed", 3, 3, 8, 8},
	} {
		none := func() time.Duration { return 0 }
		assert.Equal(t, c.documented*time.Second, schedulingDelay(&documented, c.code, c.prior, c.spent, none), "documented: %+v", c)
		assert.Equal(t, c.hardened*time.Second, schedulingDelay(&hardened, c.code, c.prior, c.spent, none), "hardened: %+v", c)
	}
}

func TestRetryableErrorCarriesPhaseAndReason(t *testing.T) {
	cause := errors.New("connection lost")
	err := fmt.Errorf("wrapped: %w", RetryAfter(cause, time.Second, phase.Publish, "dispatch_failed"))
	var r *RetryableError
	require.ErrorAs(t, err, &r)
	assert.Equal(t, phase.Publish, r.Phase)
	assert.Equal(t, "dispatch_failed", r.ReasonCode)
	assert.Equal(t, time.Second, r.RetryDelay())
	assert.ErrorIs(t, err, cause)
	assert.EqualError(t, r, "publish: connection lost (retry after 1s)")
}

// An outage of minutes does not use up a message's deliveries.
func TestInfrastructureDelaysLast(t *testing.T) {
	s := settings.Hardened()
	for _, base := range []time.Duration{s.RetryDelayBusy, s.RetryDelayStore} {
		var sum time.Duration
		for i := range s.MaxDeliver {
			sum += backoffDelay(i, base, 0, s.BackoffMax)
		}
		assert.Greater(t, sum, 45*time.Minute)
	}
}

// Dead letters, exponential_jitter: the n-th replay waits for backoff_base, doubled n-1 times, and for up to as much again as
// backoff_base by chance.
func TestTheBackoffOfReplays(t *testing.T) {
	s := settings.Documented()
	s.Replay.BackoffBase = 10 * time.Second
	for random, want := range map[time.Duration][]time.Duration{
		0:               {10 * time.Second, 20 * time.Second, 40 * time.Second},
		3 * time.Second: {13 * time.Second, 23 * time.Second, 43 * time.Second},
	} {
		wait := replayWait(&s, fixedRandom(random))
		for i, w := range want {
			assert.Equal(t, w, wait(t.Context(), i+1))
		}
	}
}

// Scheduler internals, section 5: the jitter is drawn from [0, 500 ms), in production by crypto/rand.
func TestTheJitterIsDrawn(t *testing.T) {
	for random, want := range map[time.Duration]time.Duration{0: time.Second, 499 * time.Millisecond: 1499 * time.Millisecond, 500 * time.Millisecond: time.Second} {
		h := newHarness(t)
		h.random = fixedRandom(random)
		h.worker("worker-1")
		h.faults.on(phase.Publish, "before")
		assert.Equal(t, want, h.retry(h.handle(h.submit())).Delay)
	}
	production := cryptoRandom{}
	assert.IsType(t, cryptoRandom{}, production)
	assert.NotEqual(t, production.Uint64(t.Context()), production.Uint64(t.Context()), "equal once in 2^64")
}
