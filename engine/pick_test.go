package engine

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/routing"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// fixedRandom draws the same number always.
type fixedRandom uint64

func (r fixedRandom) Uint64(context.Context) uint64 { return uint64(r) }

// newJittered returns a harness whose one worker is past its TTL, and whose every wait is 40ms.
func newJittered(t *testing.T, picks int) *harness {
	h := newHarness(t, func(s *settings.Settings) { s.StaleWorker, s.MaxDispatchRetries = settings.JitteredRetries, picks })
	h.random = fixedRandom(h.settings.StaleRetryJitter + 40*time.Millisecond) // modulo the jitter
	h.worker("worker-1")
	h.clock.Advance(h.settings.WorkerTTL + 1)
	return h
}

// handling handles a request on another goroutine and returns once the handling waits for the clock.
func (h *harness) handling(ctx context.Context, req job.Request) <-chan error {
	h.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- h.HandleJobRequest(ctx, req) }()
	h.waits()
	return ended
}

// waits returns once a handling waits for the clock: its timer, besides the ticker of its lock.
func (h *harness) waits() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(h.t, h.clock.BlockUntilContext(ctx, 2), "nothing waits for the clock")
}

func (h *harness) stalePicks() int { return strings.Count(h.logs.String(), "stale worker detected") }

// Stale workers, the alternative of more inner retries with tiny jitter.
func TestJitteredRetriesWaitBeforeEachRepick(t *testing.T) {
	h := newJittered(t, 3)
	req := h.submit()
	ended := h.handling(t.Context(), req)
	for pick := 1; pick <= 2; pick++ {
		assert.Equal(t, pick, h.stalePicks())
		require.True(t, h.redis.Exists("cordum:scheduler:job:job-1"), "the lock stays held")
		h.clock.Advance(40*time.Millisecond - 1)
		h.waits() // not yet
		assert.Equal(t, pick, h.stalePicks())
		h.clock.Advance(1)
		if pick < 2 {
			h.logs.await(`"dispatch_attempt":1`)
			h.waits()
		}
	}
	r := h.retry(soon(t, ended, "the end of the handling"))
	assert.ErrorIs(t, r, routing.ErrNoWorkers)
	assert.Equal(t, phase.Pick, r.Phase)
	assert.Equal(t, h.settings.RetryDelayNoWorkers, r.Delay)
	assert.True(t, h.logged("stale worker detected, retrying dispatch", `"dispatch_attempt":2`))
	assert.EqualValues(t, 3, h.metric(`scheduler_stale_worker_retry_total{topic="job.default",worker="worker-1"}`))
	assert.Equal(t, 1, h.record().Attempts, "one attempt, however many picks")
	h.unlocked()
}

func TestAJitteredRepickSeesWhatChangedMeanwhile(t *testing.T) {
	for name, change := range map[string]func(*harness){
		"a heartbeat": func(h *harness) { h.worker("worker-1") },
		"a sweep":     func(h *harness) { h.worker("worker-2"); h.registry.Sweep() },
	} {
		t.Run(name, func(t *testing.T) {
			h := newJittered(t, 3)
			ended := h.handling(t.Context(), h.submit())
			change(h)
			h.clock.Advance(40 * time.Millisecond)
			require.NoError(t, soon(t, ended, "the end of the handling"))
			assert.Len(t, h.dispatches(), 1)
			assert.Equal(t, 1, h.stalePicks())
			assert.Equal(t, 1, h.record().Attempts)
		})
	}
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	h := newJittered(t, 3)
	ctx, cancel := context.WithCancel(t.Context())
	ended := h.handling(ctx, h.submit())
	cancel()
	r := h.retry(soon(t, ended, "the end of the handling"))
	assert.ErrorIs(t, r, context.Canceled)
	assert.ErrorIs(t, r, routing.ErrNoWorkers)
	assert.Equal(t, phase.Pick, r.Phase)
	assert.Empty(t, h.dispatches())
}

// A live worker costs no wait.
func TestNoWaitWithoutAStaleWorker(t *testing.T) {
	h := newJittered(t, 3)
	h.worker("worker-1")
	require.NoError(t, h.handle(h.submit()))
	assert.Len(t, h.dispatches(), 1)
}

// Fixed retries never wait, and draw nothing: the clock stands still here, and a wait would not end.
func TestFixedRetriesAreImmediate(t *testing.T) {
	h := newJittered(t, 3)
	h.settings.StaleWorker = settings.FixedRetries
	drawn := new(countingRandom)
	h.random = drawn
	assert.ErrorIs(t, h.handle(h.submit()), routing.ErrNoWorkers)
	assert.Zero(t, drawn.drawn)
}

// Between two heartbeats the documented load does not change, so that all jobs go to one worker.
func TestDispatchesCountAsLoad(t *testing.T) {
	for count, want := range map[bool][]string{false: {"worker-1", "worker-1", "worker-1"}, true: {"worker-1", "worker-2", "worker-1"}} {
		h := newHarness(t, func(s *settings.Settings) { s.CountDispatches = count })
		h.worker("worker-1")
		h.worker("worker-2")
		var got []string
		for i := range want {
			req := h.submit()
			req.JobID = fmt.Sprint("job-", i)
			require.NoError(t, h.handle(req))
			got = append(got, h.dispatches()[i].WorkerID)
		}
		assert.Equal(t, want, got, "count_dispatches=%v", count)
	}
}

// WEAKNESSES 11: which of several equally loaded workers gets a job is the id's choice, or chance's.
func TestTies(t *testing.T) {
	for tie, want := range map[settings.TieBreak]string{settings.ByWorkerID: "worker-1", settings.Drawn: "worker-3"} {
		h := newHarness(t, func(s *settings.Settings) { s.TieBreak = tie })
		h.random = fixedRandom(5)
		for _, id := range []string{"worker-2", "worker-3", "worker-1"} {
			h.worker(id)
		}
		require.NoError(t, h.handle(h.submit()))
		assert.Equal(t, want, h.record().Worker, tie)
	}
}

// countingRandom counts what is drawn of it.
type countingRandom struct{ drawn int }

func (r *countingRandom) Uint64(context.Context) uint64 { r.drawn++; return 0 }

// Stale workers: an error of the strategy ends the loop. A re-pick would draw its jitter first.
func TestAnErrorOfTheStrategyEndsThePicks(t *testing.T) {
	for want, meets := range map[error]func(h *harness, req *job.Request){
		routing.ErrNoWorkers:     func(*harness, *job.Request) {},
		routing.ErrNoPoolMapping: func(_ *harness, req *job.Request) { req.Topic = "job.other" },
		routing.ErrOverloaded: func(h *harness, _ *job.Request) {
			require.NoError(t, h.HandleHeartbeat(job.Heartbeat{WorkerID: "worker-1", Pool: "default", CPULoad: 90}))
		},
	} {
		h := newHarness(t, func(s *settings.Settings) { s.StaleWorker = settings.JitteredRetries })
		draws := &countingRandom{}
		h.random = draws
		req := h.submit()
		meets(h, &req)
		drawn := draws.drawn
		over, cancel := context.WithCancel(t.Context())
		cancel() // a re-pick would not wait for the clock
		_, err := h.pick(over, &req)
		assert.ErrorIs(t, err, want)
		assert.NotErrorIs(t, err, context.Canceled)
		assert.Equal(t, drawn, draws.drawn, want)
	}
}

// So does one that a re-pick meets.
func TestAnErrorOfTheStrategyEndsTheRepicks(t *testing.T) {
	h := newJittered(t, 4)
	ended := h.handling(t.Context(), h.submit())
	h.registry.Sweep()
	h.clock.Advance(40 * time.Millisecond)
	r := h.retry(soon(t, ended, "the end of the handling"))
	assert.ErrorIs(t, r, routing.ErrNoWorkers)
	assert.NotErrorIs(t, r, errStale)
	assert.Equal(t, 1, h.stalePicks())
}

// whenStale is a handler of logs that does something after each stale pick, which the next pick follows at once.
type whenStale struct {
	slog.Handler
	do func(pick int)
	n  *int
}

func (w whenStale) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "stale worker detected") {
		*w.n++
		w.do(*w.n)
	}
	return nil
}

// Stale workers: each pick but the first is made from a new snapshot of the registry, so that three at once suffice for a
// gap that ends in between. The clock stands still meanwhile.
func TestThreeImmediatePicksSufficeForAShortGap(t *testing.T) {
	for name, ends := range map[string]func(*harness){
		"a heartbeat": func(h *harness) { h.worker("worker-1") },
		"a sweep":     func(h *harness) { h.worker("worker-2"); h.registry.Sweep() },
	} {
		for gap := range 4 {
			h := newHarness(t)
			h.worker("worker-1")
			h.clock.Advance(h.settings.WorkerTTL + 1)
			h.log = slog.New(whenStale{h.log.Handler(), func(pick int) {
				if pick == gap {
					ends(h)
				}
			}, new(int)})
			if gap == 0 {
				ends(h)
			}
			err := h.handle(h.submit())
			if gap == 3 {
				assert.ErrorIs(t, err, routing.ErrNoWorkers, name)
				continue
			}
			require.NoError(t, err, "%s after %d picks", name, gap)
			assert.Len(t, h.dispatches(), 1)
			assert.Equal(t, 1, h.record().Attempts)
		}
	}
}
