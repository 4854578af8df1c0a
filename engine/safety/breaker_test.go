package safety_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/wavetank-sim/wavetank/engine/safety"
)

var errDown = errors.New("down")

// circuit is breakers of several replicas over one Redis, and a service that may be down.
type circuit struct {
	t        *testing.T
	redis    *miniredis.Miniredis
	clock    *clockwork.FakeClock
	replicas []*safety.Breaker
	down     bool
	calls    int
}

func newCircuit(t *testing.T, replicas int, change ...func(*safety.Breaker)) *circuit {
	c := &circuit{t: t, redis: miniredis.RunT(t), clock: clockwork.NewFakeClock()}
	for range replicas {
		client := redis.NewClient(&redis.Options{Addr: c.redis.Addr(), MaxRetries: -1})
		t.Cleanup(func() { _ = client.Close() })
		b := &safety.Breaker{
			Name: "safety kernel", Redis: client, Prefix: safety.SafetyPrefix, Clock: c.clock, Timeout: time.Minute,
			FailBudget: 3, OpenFor: 30 * time.Second, HalfOpenMax: 3, CloseAfter: 2, Logger: slog.New(slog.DiscardHandler),
		}
		for _, f := range change {
			f(b)
		}
		c.replicas = append(c.replicas, b)
	}
	return c
}

func shareProbes(b *safety.Breaker) { b.SharedProbes = true }

// call has a replica make a call, and says what came of it: ok, down or open.
func (c *circuit) call(replica int) string {
	err := c.replicas[replica].Do(context.Background(), func(context.Context) error {
		c.calls++
		if c.down {
			return errDown
		}
		return nil
	})
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, safety.ErrOpen):
		return "open"
	}
	require.ErrorIs(c.t, err, errDown)
	return "down"
}

func (c *circuit) pass(d time.Duration) {
	c.redis.FastForward(d)
	c.clock.Advance(d)
}

// trip fills the budget.
func (c *circuit) trip() {
	c.down = true
	for range 3 {
		require.Equal(c.t, "down", c.call(0))
	}
}

func TestAnyReplicasFailuresOpenTheCircuitToAll(t *testing.T) {
	c := newCircuit(t, 3)
	c.down = true
	assert.Equal(t, "down", c.call(0))
	assert.Equal(t, "down", c.call(1))
	assert.Equal(t, "down", c.call(2))
	for replica := range 3 {
		assert.Equal(t, "open", c.call(replica))
	}
	n, err := c.redis.Get("cordum:cb:safety:failures")
	require.NoError(t, err)
	assert.Equal(t, "3", n)
	c.pass(30*time.Second - time.Millisecond)
	assert.Equal(t, "open", c.call(1))
	assert.Equal(t, 3, c.calls)
	c.pass(time.Millisecond)
	assert.Equal(t, "down", c.call(1), "somebody is called again")
}

func TestASuccessForgetsTheFailures(t *testing.T) {
	c := newCircuit(t, 2)
	for _, failures := range []int{1, 2, 1, 2} {
		c.down = true
		for n := range failures {
			assert.Equal(t, "down", c.call(n))
		}
		c.down = false
		assert.Equal(t, "ok", c.call(1))
		assert.False(t, c.redis.Exists("cordum:cb:safety:failures"), "after %d", failures)
	}
	own := newCircuit(t, 1, func(b *safety.Breaker) { b.Redis = nil }) // a replica that goes by its own count
	for range 3 {
		own.down = true
		assert.Equal(t, "down", own.call(0))
		assert.Equal(t, "down", own.call(0))
		own.down = false
		assert.Equal(t, "ok", own.call(0))
	}
}

func TestHalfOpenClosesAfterTwoSuccesses(t *testing.T) {
	for _, shared := range []bool{false, true} {
		c := newCircuit(t, 2, func(b *safety.Breaker) { b.SharedProbes = shared })
		c.trip()
		c.pass(30 * time.Second)
		c.down = false
		assert.Equal(t, "ok", c.call(0))
		assert.True(t, c.redis.Exists("cordum:cb:safety:failures"))
		assert.Equal(t, shared, c.redis.Exists("cordum:cb:safety:successes"))
		assert.Equal(t, "ok", c.call(0))
		assert.Empty(t, c.redis.Keys(), "closed: nothing is left")
		for range 4 {
			assert.Equal(t, "ok", c.call(1))
		}
	}
}

// Failures in a row have no age, and half-open ends with an answer alone.
func TestTimeForgetsNothing(t *testing.T) {
	for _, change := range []func(*safety.Breaker){shareProbes, func(*safety.Breaker) {}, func(b *safety.Breaker) { b.Redis = nil }} {
		c := newCircuit(t, 1, change)
		c.down = true
		for range 3 {
			assert.Equal(t, "down", c.call(0))
			c.pass(29 * time.Second)
		}
		assert.Equal(t, "open", c.call(0))
		for range 2 {
			c.pass(24 * time.Hour)
			assert.Equal(t, "down", c.call(0))
			assert.Equal(t, "open", c.call(0), "the failure of one probe")
		}
		c.down = false
		for range 2 {
			c.pass(24 * time.Hour)
			assert.Equal(t, "ok", c.call(0))
		}
		c.down = true
		for range 2 {
			assert.Equal(t, "down", c.call(0))
		}
		c.down = false
		assert.Equal(t, "ok", c.call(0), "two successes have closed it")
	}
}

// A success ends the row of failures, also of one that came while its call was under way.
func TestASuccessForgetsWhatCameBetween(t *testing.T) {
	c := newCircuit(t, 2)
	c.down = true
	assert.Equal(t, "down", c.call(0))
	require.NoError(t, c.replicas[1].Do(t.Context(), func(context.Context) error {
		assert.Equal(t, "down", c.call(0))
		return nil
	}))
	assert.False(t, c.redis.Exists("cordum:cb:safety:failures"))
	assert.Equal(t, "down", c.call(0))
	require.NoError(t, c.replicas[1].Do(t.Context(), func(context.Context) error {
		assert.Equal(t, "down", c.call(0))
		assert.Equal(t, "down", c.call(0))
		return nil
	}))
	assert.Equal(t, "open", c.call(0), "but it does not close a circuit that has opened since")
}

func TestAnyFailureInHalfOpenOpensAgain(t *testing.T) {
	for _, shared := range []bool{false, true} {
		c := newCircuit(t, 2, func(b *safety.Breaker) { b.SharedProbes = shared })
		c.trip()
		c.pass(30 * time.Second)
		c.down = false
		assert.Equal(t, "ok", c.call(0))
		c.down = true
		assert.Equal(t, "down", c.call(1))
		c.pass(29 * time.Second)
		assert.Equal(t, "open", c.call(0))
		assert.Equal(t, "open", c.call(1))
		c.pass(time.Second)
		c.down = false
		assert.Equal(t, "ok", c.call(0), "a window of its own")
		assert.True(t, c.redis.Exists("cordum:cb:safety:failures"), "half-open still: the success of the last window does not count")
		assert.Equal(t, "ok", c.call(0))
		assert.Empty(t, c.redis.Keys())
	}
}

// sendAll has every replica call until it is refused, with no answer yet, and says how many calls went out.
func (c *circuit) sendAll() (out int) {
	hold := make(chan struct{})
	entered, done := make(chan bool), make(chan struct{})
	for _, b := range c.replicas {
		for refused := false; !refused && out < 20; {
			go func() {
				err := b.Do(context.Background(), func(context.Context) error {
					entered <- true
					<-hold
					return nil
				})
				if errors.Is(err, safety.ErrOpen) {
					entered <- false
				}
				done <- struct{}{}
			}()
			if refused = !<-entered; !refused {
				out++
			} else {
				<-done
			}
		}
	}
	close(hold)
	for range out {
		<-done
	}
	return out
}

func TestProbesOfAHalfOpenWindow(t *testing.T) {
	c := newCircuit(t, 3)
	c.trip()
	c.pass(30 * time.Second)
	assert.Equal(t, 9, c.sendAll(), "documented: three of each replica")

	c = newCircuit(t, 3, shareProbes)
	c.trip()
	c.pass(30 * time.Second)
	assert.Equal(t, 3, c.sendAll(), "shared: three in all")
	assert.Empty(t, c.redis.Keys(), "all of them succeeded")
}

func TestProbesThatNobodyHeardOfAreForgotten(t *testing.T) {
	c := newCircuit(t, 1, shareProbes)
	c.trip()
	c.pass(30 * time.Second)
	require.NoError(t, c.redis.Set("cordum:cb:safety:probes", "3")) // of replicas that died
	c.redis.SetTTL("cordum:cb:safety:probes", 30*time.Second)
	assert.Equal(t, "open", c.call(0))
	c.pass(30 * time.Second)
	c.down = false
	assert.Equal(t, "ok", c.call(0))
}

func TestAProbeThatCannotBeCountedDoesNotGoOut(t *testing.T) {
	c := newCircuit(t, 1, shareProbes)
	c.trip()
	c.pass(30 * time.Second)
	require.NoError(t, c.redis.Set("cordum:cb:safety:probes", "many"))
	calls := c.calls
	assert.Equal(t, "open", c.call(0))
	assert.Equal(t, calls, c.calls)
}

func TestWithoutRedisEachReplicaCountsAlone(t *testing.T) {
	c := newCircuit(t, 2)
	c.down = true
	c.redis.SetError("LOADING")
	for range 3 {
		assert.Equal(t, "down", c.call(0))
	}
	assert.Equal(t, "open", c.call(0))
	assert.Equal(t, "down", c.call(1), "it has a budget of its own")
	c.pass(30*time.Second - time.Millisecond)
	assert.Equal(t, "open", c.call(0))
	c.pass(time.Millisecond)
	assert.Equal(t, "down", c.call(0))
	assert.Equal(t, "open", c.call(0), "half-open, and the probe failed")
	c.pass(30 * time.Second)
	c.down = false
	assert.Equal(t, "ok", c.call(0))
	c.down = true
	assert.Equal(t, "down", c.call(0))
	assert.Equal(t, "open", c.call(0), "half-open still: one success does not close it")
	c.pass(30 * time.Second)
	c.down = false
	assert.Equal(t, "ok", c.call(0))
	assert.Equal(t, "ok", c.call(0))
	c.down = true
	assert.Equal(t, "down", c.call(0))
	assert.Equal(t, "down", c.call(0), "closed: two failures are within the budget")
	c.redis.SetError("")
	c.down = false
	assert.Equal(t, "ok", c.call(0), "the others have counted no failure")
}

func TestABreakerWithoutRedisNeverLooks(t *testing.T) {
	c := newCircuit(t, 2, func(b *safety.Breaker) { b.Redis = nil })
	c.trip()
	assert.Equal(t, "open", c.call(0))
	assert.Equal(t, "down", c.call(1))
	assert.Empty(t, c.redis.Keys())
}

func TestAFailureThatCannotBeCountedIsStillOnesOwn(t *testing.T) {
	c := newCircuit(t, 1)
	c.down = true
	for range 3 {
		b := c.replicas[0]
		err := b.Do(context.Background(), func(context.Context) error {
			c.redis.SetError("LOADING")
			return errDown
		})
		require.ErrorIs(t, err, errDown)
		c.redis.SetError("")
	}
	c.redis.SetError("LOADING")
	assert.Equal(t, "open", c.call(0))
}

func TestACallThatItsCallerGaveUpCountsForNothing(t *testing.T) {
	c := newCircuit(t, 1)
	ctx, cancel := context.WithCancel(context.Background())
	for range 5 {
		err := c.replicas[0].Do(ctx, func(context.Context) error { cancel(); return errDown })
		require.Error(t, err)
		ctx, cancel = context.WithCancel(context.Background())
	}
	cancel()
	assert.Equal(t, "ok", c.call(0))
	assert.Empty(t, c.redis.Keys())
}

// A replica that goes by its own counter has no other end to its half-open window than an answer.
func TestAProbeThatItsCallerGaveUpIsGivenBack(t *testing.T) {
	for name, away := range map[string]func(*safety.Breaker){"alone": func(b *safety.Breaker) { b.Redis = nil }, "in its own window": func(*safety.Breaker) {}} {
		c := newCircuit(t, 1, away)
		c.trip()
		c.pass(30 * time.Second)
		for range 5 {
			ctx, cancel := context.WithCancel(context.Background())
			err := c.replicas[0].Do(ctx, func(context.Context) error { cancel(); return errDown })
			require.ErrorIs(t, err, errDown, name)
		}
		c.down = false
		assert.Equal(t, "ok", c.call(0), name)
		assert.Equal(t, "ok", c.call(0), name)
	}
}

// A failover may bring back failures that probes have closed the circuit after.
func TestACircuitThatOpensByItselfHasItsProbes(t *testing.T) {
	c := newCircuit(t, 1)
	c.trip()
	c.pass(30 * time.Second)
	left := c.redis.TTL("cordum:cb:safety:failures")
	assert.Equal(t, 3, c.sendAll())
	assert.Empty(t, c.redis.Keys())
	require.NoError(t, c.redis.Set("cordum:cb:safety:failures", "3"))
	c.redis.SetTTL("cordum:cb:safety:failures", left)
	c.down = false
	assert.Equal(t, "ok", c.call(0))
	assert.Equal(t, "ok", c.call(0))
	assert.Empty(t, c.redis.Keys())
}

// Nobody knows of a probe whose answer Redis was not told of, so that another goes out.
func TestAProbeThatWasNotCountedIsGivenBack(t *testing.T) {
	for _, answer := range []error{errDown, nil} {
		c := newCircuit(t, 1)
		c.trip()
		c.pass(30 * time.Second)
		for range 5 {
			err := c.replicas[0].Do(t.Context(), func(context.Context) error {
				c.redis.SetError("LOADING")
				return answer
			})
			c.redis.SetError("")
			require.ErrorIs(t, err, answer)
		}
		c.down = false
		assert.Equal(t, "ok", c.call(0))
	}
}

// What is wrong with one request says nothing of the service.
func TestAnErrorAboutTheRequestCountsForNothing(t *testing.T) {
	c := newCircuit(t, 1)
	for range 5 {
		for _, about := range []error{status.Error(codes.ResourceExhausted, "grpc: received message larger than max (5 vs. 4)"), status.Error(codes.InvalidArgument, "no")} {
			err := c.replicas[0].Do(context.Background(), func(context.Context) error {
				return fmt.Errorf("no answer: %w", about)
			})
			require.ErrorIs(t, err, about)
		}
	}
	assert.Empty(t, c.redis.Keys())
	assert.Equal(t, "ok", c.call(0))
}

// A quota, and a service that is not ready, are no errors about the request.
func TestAServiceThatTakesNoCallsOpensTheCircuit(t *testing.T) {
	for _, code := range []codes.Code{codes.ResourceExhausted, codes.FailedPrecondition} {
		assert.False(t, safety.AboutRequest(status.Error(code, "quota exceeded")), code)
	}
}

// A counter that somebody wrote without a TTL would keep the circuit half-open for ever.
func TestACounterWithoutATTLIsDeleted(t *testing.T) {
	c := newCircuit(t, 1)
	require.NoError(t, c.redis.Set("cordum:cb:safety:failures", "7"))
	assert.Equal(t, "ok", c.call(0))
	assert.Empty(t, c.redis.Keys())
	c.trip()
	assert.Equal(t, "open", c.call(0))
}

// What a replica saw last becomes half-open with time, though nobody calls any more.
func TestTheStateThatWasSeenLast(t *testing.T) {
	for name, change := range map[string]func(*safety.Breaker){"shared": shareProbes, "each its own probes": func(*safety.Breaker) {}} {
		c := newCircuit(t, 2, change)
		last := func(replica int) safety.State { return c.replicas[replica].Last() }
		assert.Equal(t, safety.Closed, last(0), name)
		c.trip()
		assert.Equal(t, safety.Open, last(0), name)
		assert.Equal(t, safety.Closed, last(1), "%s: it has not looked", name)
		assert.Equal(t, "open", c.call(1), name)
		c.redis.SetError("LOADING")
		c.pass(29 * time.Second)
		assert.Equal(t, safety.Open, last(1), "%s: nobody asks Redis", name)
		c.pass(time.Second)
		assert.Equal(t, safety.HalfOpen, last(0), name)
		assert.Equal(t, safety.HalfOpen, last(1), name)
		c.redis.SetError("")
		c.down = false
		assert.Equal(t, "ok", c.call(0), name)
		assert.Equal(t, "ok", c.call(0), name)
		assert.Equal(t, safety.Closed, last(0), name)
		c.pass(30 * time.Second)
		assert.Equal(t, safety.HalfOpen, last(1), "%s: it has not looked since", name)
		assert.Equal(t, "ok", c.call(1), name)
		assert.Equal(t, safety.Closed, last(1), name)
	}
}

func TestTheStateThatWasSeenLastWithoutRedis(t *testing.T) {
	c := newCircuit(t, 1)
	c.trip()
	c.pass(time.Minute)
	c.redis.SetError("LOADING")
	for range 3 {
		c.call(0)
	}
	assert.Equal(t, safety.Open, c.replicas[0].Last(), "by failures of its own")
	c.pass(30 * time.Second)
	assert.Equal(t, safety.HalfOpen, c.replicas[0].Last())
	c.redis.SetError("")
	c.down = false
	assert.Equal(t, "ok", c.call(0))
	assert.Equal(t, safety.HalfOpen, c.replicas[0].Last(), "by the shared counter again")
	assert.Equal(t, "ok", c.call(0))
	assert.Equal(t, safety.Closed, c.replicas[0].Last())
}

// Whoever asks for the state sees what a call would meet, and changes nothing.
func TestTheStateOfACircuit(t *testing.T) {
	for _, change := range []func(*safety.Breaker){shareProbes, func(b *safety.Breaker) { b.Redis = nil }} {
		c := newCircuit(t, 1, change)
		state := func() safety.State { return c.replicas[0].State(t.Context()) }
		assert.Equal(t, safety.Closed, state())
		c.trip()
		assert.Equal(t, safety.Open, state())
		c.pass(30*time.Second + time.Millisecond)
		for range 10 {
			assert.Equal(t, safety.HalfOpen, state())
		}
		c.down = false
		assert.Equal(t, "ok", c.call(0))
		assert.Equal(t, "ok", c.call(0))
		assert.Equal(t, safety.Closed, state())
	}
}
