package recovery_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/store"
)

const poll = 30 * time.Second

// harness is a store with jobs in it, for loops that tick when the test says so.
type harness struct {
	t     *testing.T
	store *store.Store
	locks *lock.Locker
	redis *miniredis.Miniredis
	clock *clockwork.FakeClock
	mu    sync.Mutex
	calls []string // phase and command
}

// beat is a ticker that beats as often as it is told to, without a wait.
type beat struct {
	clockwork.Ticker
	left int
	end  func()
}

func (b *beat) Chan() <-chan time.Time {
	c := make(chan time.Time, 1)
	if b.left == 0 {
		b.end()
		return c
	}
	b.left--
	c <- time.Time{}
	return c
}

func newHarness(t *testing.T) *harness {
	h := &harness{t: t, redis: miniredis.RunT(t), clock: clockwork.NewFakeClockAt(time.UnixMilli(1_700_000_000_000))}
	client := redis.NewClient(&redis.Options{Addr: h.redis.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	client.AddHook(h)
	h.store = &store.Store{Redis: client, Clock: h.clock, Timeout: time.Minute}
	tokens := 0
	h.locks = &lock.Locker{
		Redis: client, Clock: h.clock, Timeout: time.Minute, MaxRenewalFailures: 3, Logger: slog.New(slog.DiscardHandler),
		Token: func(context.Context) string { tokens++; return fmt.Sprint("owner-", tokens) },
	}
	return h
}

func (h *harness) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *harness) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { h.note(ctx, cmd); return next(ctx, cmd) }
}

func (h *harness) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { h.note(ctx, cmds[0]); return next(ctx, cmds) }
}

func (h *harness) note(ctx context.Context, cmd redis.Cmder) {
	if cmd.Name() == "hello" || cmd.Name() == "client" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, string(phase.From(ctx).Phase)+" "+cmd.Name())
}

func (h *harness) lock(p phase.Phase) *lock.Tick {
	return &lock.Tick{Locker: h.locks, Key: "lock", TTL: 2 * poll, Keep: lock.Released, Acquire: p, Release: p}
}

// job puts a job into a state, of the age and request that are given.
func (h *harness) job(id string, s job.State, topic string, age time.Duration, packet string) {
	h.t.Helper()
	at := h.clock.Now().Add(-age).UnixMilli()
	h.redis.HSet("job:"+id, "state", string(s), "attempts", "1", "topic", topic, "created_at", fmt.Sprint(at), "updated_at", fmt.Sprint(at), "request", packet)
	_, err := h.redis.ZAdd("job:index:"+string(s), float64(at), id)
	require.NoError(h.t, err)
}

func (h *harness) deadline(id string, ago time.Duration) {
	h.t.Helper()
	at := h.clock.Now().Add(-ago).UnixMilli()
	h.redis.HSet("job:"+id, "deadline_at", fmt.Sprint(at))
	_, err := h.redis.ZAdd("job:deadlines", float64(at), id)
	require.NoError(h.t, err)
}

// pass lets time go by, for Redis and for its clients.
func (h *harness) pass(d time.Duration) {
	h.clock.Advance(d)
	h.redis.FastForward(d)
}

// move takes the job from one state to the other, as of now.
func (h *harness) move(id string, from, to job.State) {
	_, err := h.store.Write(context.Background(), store.Write{JobID: id, From: from, To: to})
	require.NoError(h.t, err)
}

// ticks lets run see n beats, and ends it when it waits for another. Time goes by where it waits for something else.
func (h *harness) ticks(n int, run func(context.Context, clockwork.Ticker)) {
	ctx, cancel := context.WithCancel(h.t.Context())
	over, end := context.WithCancel(h.t.Context())
	go func() {
		defer end()
		run(ctx, &beat{left: n, end: cancel})
	}()
	for h.clock.BlockUntilContext(over, 1) == nil {
		h.clock.Advance(time.Second)
	}
}
