package workflow

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/recovery"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// harness is the engine of one replica, on a Redis that others may share.
type harness struct {
	*Engine
	t         *testing.T
	server    *miniredis.Miniredis
	clock     *clockwork.FakeClock
	submitted chan string // the jobs that it has submitted
	fails     int         // so many submissions fail, once their jobs are stored
}

func newHarness(t *testing.T, server *miniredis.Miniredis, clock *clockwork.FakeClock) *harness {
	h := &harness{t: t, server: server, clock: clock, submitted: make(chan string, 100)}
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	jobs := &store.Store{Redis: client, Clock: clock, Timeout: time.Minute}
	var tokens atomic.Int64 // which the goroutines of Go draw too
	h.Engine = &Engine{
		Runs:  &Store{Redis: client, Clock: clock, Timeout: time.Minute, Fence: true, Durable: true},
		Jobs:  jobs,
		Clock: clock, Logger: slog.New(slog.DiscardHandler),
		Locks: &lock.Locker{
			Redis: client, Clock: clock, Timeout: time.Minute, MaxRenewalFailures: 3, Logger: slog.New(slog.DiscardHandler),
			Token: func(context.Context) string { return t.Name() + strconv.FormatInt(tokens.Add(1), 10) },
		},
		Submit: func(ctx context.Context, req job.Request, again bool) (made bool, err error) {
			made, err = jobs.Create(ctx, &req, []byte(`{"job_id":"`+req.JobID+`","workflow_id":"`+req.WorkflowID+`"}`))
			if err != nil || !made && !again {
				return made, err
			}
			if h.fails > 0 {
				h.fails--
				return made, errors.New("injected")
			}
			h.submitted <- req.JobID
			return made, nil
		},
		LockTTL: 30 * time.Second, StrictLock: true, RetryDelay: time.Second,
		Durable: true, DurableFrom: 10 * time.Second, DelayPoll: 5 * time.Second, RunsPoll: 30 * time.Second, BatchSize: 2,
	}
	t.Cleanup(h.Close)
	return h
}

func alone(t *testing.T) *harness {
	return newHarness(t, miniredis.RunT(t), clockwork.NewFakeClockAt(began))
}

// next is the next job that it submits. A test that waits in vain fails, and does not hang.
func (h *harness) next() string {
	h.t.Helper()
	select {
	case id := <-h.submitted:
		return id
	case <-time.After(20 * time.Second):
		require.FailNow(h.t, "nothing is submitted")
		return ""
	}
}

// create stores a run whose second step comes so many seconds after its first.
func (h *harness) create(delaySec int64) {
	_, err := h.Runs.Create(h.t.Context(), Run{RunID: "run-1", WorkflowID: "wf-1", Steps: []Step{
		{ID: "a", Topic: "job.default"}, {ID: "b", Topic: "job.default", DependsOn: []string{"a"}, DelaySec: delaySec},
	}})
	require.NoError(h.t, err)
}

// advances advances the run.
func (h *harness) advances() { h.t.Helper(); require.NoError(h.t, h.StartRun(h.t.Context(), "run-1")) }

// succeeds ends a job by its record.
func (h *harness) succeeds(id string) {
	for _, to := range []job.State{job.Scheduled, job.Dispatched, job.Succeeded} {
		rec, err := h.Jobs.Read(h.t.Context(), id)
		require.NoError(h.t, err)
		_, err = h.Jobs.Write(h.t.Context(), rec.Move(to))
		require.NoError(h.t, err)
	}
}

func (h *harness) run() Run {
	r, err := h.Runs.Read(h.t.Context(), "run-1")
	require.NoError(h.t, err)
	return r
}

// timer is the run's place in the sorted set of timers.
func (h *harness) timer() (score float64, ok bool) {
	score, err := h.server.ZScore(TimersKey, "wf-1:run-1")
	return score, err == nil
}

// until waits for something that goes on in the background.
func (h *harness) until(ok func() bool) {
	h.t.Helper()
	require.Eventually(h.t, ok, 10*time.Second, time.Millisecond)
}

func TestARunFromItsStartToItsEnd(t *testing.T) {
	h := alone(t)
	h.create(30)
	h.create(40) // there is one already
	score, ok := h.timer()
	assert.True(t, ok)
	assert.InDelta(t, 1001, score, 0, "due at once; a whole second, rounded up")
	assert.Equal(t, int64(30), h.run().Steps[1].DelaySec)
	h.clock.Advance(time.Second)
	require.NoError(t, h.firePastDue(t.Context()))
	assert.Equal(t, "run-1-a-1", h.next())
	h.timers.pending.Wait()
	h.advances()
	assert.Empty(t, h.submitted, "it waits")

	h.succeeds("run-1-a-1")
	h.HandleJobResult(t.Context(), "run-1-a-1", "run-1")
	score, _ = h.timer()
	assert.InDelta(t, 1032, score, 0)
	h.clock.Advance(30*time.Second - time.Millisecond)
	h.advances()
	assert.Empty(t, h.submitted, "not yet")
	h.clock.Advance(time.Millisecond)
	assert.Equal(t, "run-1-b-1", h.next())
	h.timers.pending.Wait()
	_, ok = h.timer()
	assert.False(t, ok, "its timer went before")
	h.succeeds("run-1-b-1")
	h.HandleJobResult(t.Context(), "run-1-b-1", "run-1")
	assert.Equal(t, Succeeded, h.run().State)
	assert.False(t, h.server.Exists(LiveKey))
	h.advances()
	assert.Empty(t, h.submitted, "it is over")
}

func TestJobsThatAreNoRuns(t *testing.T) {
	h := alone(t)
	h.HandleJobResult(t.Context(), "job-1", "wf-1")
	h.HandleJobResult(t.Context(), "run-1-a-1", "wf-1")
	h.HandleJobResult(t.Context(), "run-1-a-1", "run-1") // there is no such run
	assert.Empty(t, h.server.Keys())
}

func TestAShortDelayIsInMemoryAlone(t *testing.T) {
	h := alone(t)
	h.create(9)
	_ = h.Runs.RemoveTimer(t.Context(), "wf-1:run-1")
	h.advances()
	h.next()
	h.succeeds("run-1-a-1")
	h.advances()
	_, ok := h.timer()
	assert.False(t, ok)
	h.clock.Advance(9 * time.Second)
	assert.Equal(t, "run-1-b-1", h.next())
}

func TestADelayWithoutRedisIsInMemoryAlone(t *testing.T) {
	h := alone(t)
	r := waiting(60)
	var logs strings.Builder
	h.Logger = slog.New(slog.NewTextHandler(&logs, nil))
	h.server.SetError("LOADING")
	h.scheduleAfter(t.Context(), &r)
	h.server.SetError("")
	assert.Contains(t, logs.String(), "level=WARN msg=\"delay timer not persisted, in-memory only\"")
	_, ok := h.timer()
	assert.False(t, ok)
	assert.Empty(t, h.timers.armed["run-1"].member)
	h.create(0)
	h.clock.Advance(time.Minute)
	assert.Equal(t, "run-1-a-1", h.next())
}

// waiting is a run with steps that wait for so many seconds, each for its own delay.
func waiting(delaysSec ...int64) Run {
	r := Run{RunID: "run-1", WorkflowID: "wf-1", State: Running, CreatedAt: began.UnixMilli()}
	for _, sec := range delaysSec {
		r.Steps = append(r.Steps, Step{ID: "a", State: StepWaiting, Attempt: 1, DelaySec: sec, NextAttemptAt: began.Add(time.Duration(sec) * time.Second).UnixMilli()})
	}
	return r
}

// All delays of a run share one timer: the earliest. All long ones share one entry in Redis: likewise.
func TestTheEarliestDelayWins(t *testing.T) {
	h := alone(t)
	for _, r := range []Run{waiting(60), waiting(60, 20, 9), waiting(120)} {
		h.scheduleAfter(t.Context(), &r)
	}
	score, _ := h.timer()
	assert.InDelta(t, 1021, score, 0)
	k := h.timers.armed["run-1"]
	assert.Equal(t, []time.Time{began.Add(9 * time.Second), began.Add(20 * time.Second)}, []time.Time{k.at, k.kept})
}

// A delay of exactly the length from which on delays are kept is kept. When it fires, the next one of the run is, and a
// short one that fires leaves it there.
func TestEveryLongDelayIsKept(t *testing.T) {
	h := alone(t)
	_, err := h.Runs.Create(t.Context(), Run{RunID: "run-1", WorkflowID: "wf-1", Steps: []Step{
		{ID: "a", Topic: "job.default", DelaySec: 9}, {ID: "b", Topic: "job.default", DelaySec: 10}, {ID: "c", Topic: "job.default", DelaySec: 18},
	}})
	require.NoError(t, err)
	require.NoError(t, h.Runs.RemoveTimer(t.Context(), "wf-1:run-1"))
	h.clock.Advance(2 * time.Second) // what is left is less
	h.advances()
	first, _ := h.timer()
	assert.InDelta(t, 1011, first, 0, "a short delay is not kept, however early")
	for _, step := range []struct {
		after time.Duration
		fires string
		score float64
	}{{7 * time.Second, "run-1-a-1", 1011}, {time.Second, "run-1-b-1", 1019}} {
		h.clock.Advance(step.after)
		assert.Equal(t, step.fires, h.next())
		h.timers.pending.Wait()
		score, ok := h.timer()
		assert.True(t, ok, step.fires)
		assert.InDelta(t, step.score, score, 0, step.fires)
	}
	h.clock.Advance(8 * time.Second)
	assert.Equal(t, "run-1-c-1", h.next())
	h.timers.pending.Wait()
	_, ok := h.timer()
	assert.False(t, ok)
}

// A short delay that fires while another replica is at the run leaves the long one in Redis.
func TestAShortDelayLeavesTheKeptOne(t *testing.T) {
	h := alone(t)
	_, err := h.Runs.Create(t.Context(), Run{RunID: "run-1", WorkflowID: "wf-1", Steps: []Step{
		{ID: "a", Topic: "job.default", DelaySec: 9}, {ID: "b", Topic: "job.default", DelaySec: 20},
	}})
	require.NoError(t, err)
	require.NoError(t, h.Runs.RemoveTimer(t.Context(), "wf-1:run-1"))
	h.advances()
	require.NoError(t, h.server.Set(RunLockKey("run-1"), "another"))
	h.clock.Advance(9 * time.Second)
	h.until(func() bool {
		h.timers.mu.Lock()
		defer h.timers.mu.Unlock()
		k := h.timers.armed["run-1"]
		return k != nil && k.at.Equal(began.Add(10*time.Second))
	})
	score, ok := h.timer()
	assert.True(t, ok)
	assert.InDelta(t, 1021, score, 0)
}

// A replica that starts fires what is past due, and arms what is to come.
func TestTimersAreRecovered(t *testing.T) {
	h := alone(t)
	h.create(0)
	_, err := h.server.ZAdd(TimersKey, 1060, "wf-1:run-2")
	require.NoError(t, err)
	h.clock.Advance(time.Second)
	h.recoverDelayTimers(t.Context())
	assert.Equal(t, "run-1-a-1", h.next())
	h.timers.pending.Wait()
	members, err := h.server.ZMembers(TimersKey)
	require.NoError(t, err)
	assert.Equal(t, []string{"wf-1:run-2"}, members, "that stays until it fires")
	assert.Equal(t, time.Unix(1060, 0), h.timers.armed["run-2"].at)
	h.clock.Advance(time.Minute)
	h.until(func() bool { return !h.server.Exists(TimersKey) })
}

func TestATimerIsPoppedOnce(t *testing.T) {
	h := alone(t)
	h.create(0)
	h.clock.Advance(time.Second)
	first, err := h.Runs.PopTimers(t.Context())
	require.NoError(t, err)
	second, err := h.Runs.PopTimers(t.Context())
	require.NoError(t, err)
	assert.Equal(t, [][]string{{"wf-1:run-1"}, {}}, [][]string{first, second})
}

func TestOldTimersAreCleaned(t *testing.T) {
	h := alone(t)
	for member, at := range map[string]float64{"wf-1:old": 1000, "wf-1:due": 1001} {
		_, err := h.server.ZAdd(TimersKey, at, member)
		require.NoError(t, err)
	}
	h.clock.Advance(time.Hour + time.Second)
	require.NoError(t, h.Runs.CleanTimers(t.Context(), cleanAge))
	members, err := h.server.ZMembers(TimersKey)
	require.NoError(t, err)
	assert.Equal(t, []string{"wf-1:due"}, members)
}

// The poller takes out what nobody has popped, every five minutes.
func TestThePollerCleansUp(t *testing.T) {
	h := alone(t)
	h.Poller = &lock.Tick{Locker: h.Locks, Key: PollerKey, TTL: time.Millisecond}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); h.Run(ctx) }()
	require.NoError(t, h.clock.BlockUntilContext(t.Context(), 1)) // the loop's ticker
	h.server.FastForward(time.Second)
	for n := range popMax + 1 { // the last of which no single look gets to
		_, err := h.server.ZAdd(TimersKey, float64(began.Add(-2*cleanAge).Unix()), "wf-1:gone-"+strconv.Itoa(n))
		require.NoError(t, err)
	}
	h.clock.Advance(5 * time.Minute)
	h.until(func() bool { return !h.server.Exists(TimersKey) })
	cancel()
	<-done
}

// A run whose lock is another replica's comes again if the lock is strict; else it is gone on with.
func TestAContendedRun(t *testing.T) {
	h := alone(t)
	h.create(0)
	require.NoError(t, h.server.Set(RunLockKey("run-1"), "another"))
	require.ErrorIs(t, h.StartRun(t.Context(), "run-1"), lock.ErrBusy)
	h.Engine.start(t.Context(), "run-1")
	assert.Empty(t, h.submitted)
	h.server.Del(RunLockKey("run-1"))
	h.clock.Advance(h.RetryDelay)
	assert.Equal(t, "run-1-a-1", h.next(), "later")
	h.timers.pending.Wait()

	h.succeeds("run-1-a-1")
	require.NoError(t, h.server.Set(RunLockKey("run-1"), "another"))
	h.StrictLock = false
	var logs strings.Builder
	h.Logger = slog.New(slog.NewTextHandler(&logs, nil))
	h.advances()
	assert.Equal(t, "run-1-b-1", h.next())
	assert.Contains(t, logs.String(), `level=WARN msg="run lock contended, local-only fallback"`)
}

// Scheduler internals, section 8: the lock of a run is renewed for as long as somebody is at it, and released after that.
func TestTheLockOfARunIsRenewed(t *testing.T) {
	h := alone(t)
	h.create(0)
	submit := h.Submit
	h.Submit = func(ctx context.Context, req job.Request, again bool) (bool, error) {
		for range 4 {
			h.server.FastForward(h.LockTTL / 3)
			h.clock.Advance(h.LockTTL / 3)
			h.until(func() bool { return h.server.TTL(RunLockKey("run-1")) == h.LockTTL })
		}
		return submit(ctx, req, again)
	}
	h.advances()
	assert.Equal(t, "run-1-a-1", h.next())
	assert.False(t, h.server.Exists(RunLockKey("run-1")))
}

// With Redis out of reach for the lock, a run goes on under the local one, unless the lock is strict.
func TestARunWithoutItsLockInRedis(t *testing.T) {
	h := alone(t)
	h.create(0)
	away := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	t.Cleanup(func() { _ = away.Close() })
	h.Locks.Redis = away
	require.Error(t, h.StartRun(t.Context(), "run-1"))
	assert.Empty(t, h.submitted)
	h.StrictLock = false
	var logs strings.Builder
	h.Logger = slog.New(slog.NewTextHandler(&logs, nil))
	h.advances()
	assert.Equal(t, "run-1-a-1", h.next())
	assert.Contains(t, logs.String(), "local-only fallback")
}

// Of the goroutines of one replica, one has a run at a time, and Redis is asked by that one.
func TestTheLocalLock(t *testing.T) {
	h := alone(t)
	inside, leave := make(chan struct{}), make(chan struct{})
	done := make(chan error, 2)
	hold := func(context.Context) error { inside <- struct{}{}; <-leave; return nil }
	for range 2 {
		go func() { done <- h.withRunLock(context.Background(), "run-1", hold) }()
	}
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, h.withRunLock(ctx, "run-1", func(context.Context) error { return nil }), context.Canceled, "another has it")
	select {
	case <-inside:
		t.Fatal("two have the run")
	case leave <- struct{}{}:
	}
	<-inside
	leave <- struct{}{}
	require.NoError(t, errors.Join(<-done, <-done))
	assert.Empty(t, h.locals.runs)
	assert.False(t, h.server.Exists(RunLockKey("run-1")))
}

// whileReleased is a hook that is told when a lock in Redis is about to be given back.
type whileReleased func()

func (whileReleased) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (whileReleased) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (told whileReleased) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() == "multi" { // not what sets a connection up
			told()
		}
		return next(ctx, cmds)
	}
}

// The lock in Redis is given back while the local one is held, so that who has that next does not find the other taken.
func TestTheLockInRedisGoesFirst(t *testing.T) {
	h := alone(t)
	var held []int
	h.Locks.Redis.AddHook(whileReleased(func() { held = append(held, len(h.locals.runs["run-1"].slot)) }))
	require.NoError(t, h.withRunLock(t.Context(), "run-1", func(context.Context) error { return nil }))
	assert.Equal(t, []int{1}, held)
}

func TestAFencedWrite(t *testing.T) {
	h := alone(t)
	h.create(0)
	mine, theirs := h.run(), h.run()
	require.NoError(t, h.Runs.Write(t.Context(), &theirs))
	require.ErrorIs(t, h.Runs.Write(t.Context(), &mine), store.ErrFenced)
	again := h.run()
	require.NoError(t, h.Locks.WithLock(t.Context(), RunLockKey("run-1"), time.Minute, func(ctx context.Context) error {
		require.NoError(t, h.server.Set(RunLockKey("run-1"), "another"))
		require.ErrorIs(t, h.Runs.Write(ctx, &again), store.ErrFenced)
		return nil
	}))
	h.Runs.Fence = false
	mine = theirs
	mine.Version--
	require.NoError(t, h.Runs.Write(t.Context(), &mine), "without a fence it is overwritten")
}

// A submission that failed is repeated by who knows of it, and one that never began by whoever comes next.
func TestSubmissionsAreRepeated(t *testing.T) {
	h := alone(t)
	h.create(0)
	h.fails = 1
	require.Error(t, h.StartRun(t.Context(), "run-1"))
	other := newHarness(t, h.server, h.clock)
	other.advances()
	assert.Empty(t, other.submitted, "the job has a record: it is the pending replayer's, for all that this replica knows")
	h.advances()
	assert.Equal(t, "run-1-a-1", h.next())
	h.advances()
	assert.Empty(t, h.submitted)

	h.server.Del(store.JobKey("run-1-a-1"))
	other.advances()
	assert.Equal(t, "run-1-a-1", other.next())
}

// Who could not make a job's record does not repeat the request of who could.
func TestSubmissionsOfOthersAreNotRepeated(t *testing.T) {
	h := alone(t)
	h.create(0)
	submit := h.Submit
	h.Submit = func(context.Context, job.Request, bool) (bool, error) { return false, errors.New("injected") }
	require.Error(t, h.StartRun(t.Context(), "run-1"))
	h.Submit = submit
	other := newHarness(t, h.server, h.clock)
	other.advances()
	assert.Equal(t, "run-1-a-1", other.next())
	h.advances()
	assert.Empty(t, h.submitted)
}

// A request whose job somebody has taken up is not repeated.
func TestSubmissionsThatHaveArrivedAreNotRepeated(t *testing.T) {
	h := alone(t)
	h.create(0)
	h.fails = 1
	require.Error(t, h.StartRun(t.Context(), "run-1"))
	h.server.HSet(store.JobKey("run-1-a-1"), "state", string(job.Running))
	h.advances()
	assert.Empty(t, h.submitted)
	assert.False(t, h.unsent.has("run-1-a-1"))
}

func TestTheReconcilerFindsWhatTimersMissed(t *testing.T) {
	h := alone(t)
	h.create(0)
	h.server.Del(TimersKey)
	_, err := h.server.ZAdd(LiveKey, 1, "run-0") // of which there is no record
	require.NoError(t, err)
	h.Reconciler = &lock.Tick{Locker: h.Locks, Key: ReconcilerKey, TTL: time.Minute}
	require.NoError(t, h.reconcile(t.Context(), new(recovery.Health), map[string]bool{}))
	assert.Equal(t, "run-1-a-1", h.next())
	members, err := h.server.ZMembers(LiveKey)
	require.NoError(t, err)
	assert.Equal(t, []string{"run-1"}, members)
}

// Runs that cannot be advanced keep no younger one out, whatever keeps them.
func TestTheReconcilerGetsPastRunsThatFail(t *testing.T) {
	for name, spoil := range map[string]func(h *harness, runID string){
		"a record that nobody can read": func(h *harness, runID string) { require.NoError(t, h.server.Set(RunKey(runID), "{")) },
		"a request that does not go": func(h *harness, runID string) {
			submit := h.Submit
			h.Submit = func(ctx context.Context, req job.Request, again bool) (bool, error) {
				if req.WorkflowID == runID {
					return false, errors.New("injected")
				}
				return submit(ctx, req, again)
			}
		},
	} {
		h := alone(t)
		h.Reconciler = &lock.Tick{Locker: h.Locks, Key: ReconcilerKey, TTL: time.Minute}
		for n := range 5 {
			runID := "run-" + strconv.Itoa(n)
			_, err := h.Runs.Create(t.Context(), Run{RunID: runID, WorkflowID: "wf-1", Steps: []Step{{ID: "a", Topic: "job.default"}}})
			require.NoError(t, err)
			if n < 4 { // two batches
				spoil(h, runID)
			}
		}
		var health recovery.Health
		failed := map[string]bool{}
		for range 3 { // two failures end a tick
			_ = h.reconcile(t.Context(), &health, failed)
		}
		require.Len(t, h.submitted, 1, name)
		assert.Equal(t, "run-4-a-1", h.next(), name)
	}
}

func TestRunRecoversPollsAndReconciles(t *testing.T) {
	h := alone(t)
	h.Poller = &lock.Tick{Locker: h.Locks, Key: PollerKey, TTL: 10 * time.Second}
	h.Reconciler = &lock.Tick{Locker: h.Locks, Key: ReconcilerKey, TTL: time.Minute}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); h.Run(ctx) }()
	require.NoError(t, h.clock.BlockUntilContext(t.Context(), 2)) // the loops' tickers
	h.create(0)
	h.clock.Advance(5 * time.Second)
	assert.Equal(t, "run-1-a-1", h.next(), "by the poller")
	cancel()
	<-done
	h.Close()
	h.Go(func(context.Context) { panic("it is closed") })
}

// What a replica could not submit is forgotten with the run, whoever ends that.
func TestUnsentJobsAreForgottenWithTheirRun(t *testing.T) {
	h := alone(t)
	h.create(0)
	h.fails = 1
	require.Error(t, h.StartRun(t.Context(), "run-1"))
	require.True(t, h.unsent.has("run-1-a-1"))
	h.unsent.add("run-12-a-1")
	other := newHarness(t, h.server, h.clock)
	h.succeeds("run-1-a-1")
	other.advances()
	h.succeeds("run-1-b-1")
	other.advances()
	require.Equal(t, Succeeded, h.run().State)
	h.advances()
	assert.False(t, h.unsent.has("run-1-a-1"))
	assert.True(t, h.unsent.has("run-12-a-1"), "another run's stays")
}
