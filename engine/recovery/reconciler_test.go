package recovery_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/recovery"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// reconciler times jobs out by moving them, notes what it was asked to, and fails as told.
type reconciler struct {
	*recovery.Reconciler
	h     *harness
	asked []string // job: reason
	fails map[string][]error
	stale map[job.State]int
}

func newReconciler(t *testing.T) *reconciler {
	r := &reconciler{h: newHarness(t), fails: map[string][]error{}, stale: map[job.State]int{}}
	r.Reconciler = &recovery.Reconciler{
		Store: r.h.store, Lock: r.h.lock(phase.ReconcileLock), Clock: r.h.clock, Logger: slog.New(slog.DiscardHandler),
		Timeouts:  recovery.Timeouts{Dispatch: 5 * time.Minute, Topics: map[string]time.Duration{"job.fast": 20 * time.Second, "job.slow": time.Hour}, Running: 30 * time.Minute},
		BatchSize: 3, MaxIterations: 100, MaxRetries: 3,
		TimeOut: func(_ context.Context, rec *store.Record, reason string) error {
			r.asked = append(r.asked, rec.JobID+": "+reason)
			if fails := r.fails[rec.JobID]; len(fails) > 0 {
				r.fails[rec.JobID] = fails[1:]
				return fails[0]
			}
			r.h.move(rec.JobID, rec.State, job.Timeout)
			return nil
		},
		Stale: func(s job.State, n int) { r.stale[s] = n },
	}
	return r
}

func (r *reconciler) tick() { r.h.ticks(1, r.Run) }

// On empty indexes a tick is two calls: the lock and one read.
func TestAnIdleTickIsCheap(t *testing.T) {
	r := newReconciler(t)
	r.Lock.Keep = lock.UntilExpiry
	r.tick()
	assert.Equal(t, []string{"reconcile_lock set", "reconcile_read multi"}, r.h.calls)
	assert.Equal(t, map[job.State]int{"PENDING": 0, "APPROVAL_REQUIRED": 0, "SCHEDULED": 0, "DISPATCHED": 0, "RUNNING": 0}, r.stale)
}

func TestWhatIsOverdueTimesOut(t *testing.T) {
	r := newReconciler(t)
	h := r.h
	h.job("d-due", job.Dispatched, "job.default", 5*time.Minute, "{}")
	h.job("d-young", job.Dispatched, "job.default", 5*time.Minute-1e6, "{}")
	h.job("fast-due", job.Dispatched, "job.fast", 21*time.Second, "{}")
	h.job("fast-young", job.Dispatched, "job.fast", 19*time.Second, "{}")
	h.job("slow-young", job.Dispatched, "job.slow", 10*time.Minute, "{}")
	h.job("r-due", job.Running, "job.fast", 31*time.Minute, "{}")
	h.job("r-young", job.Running, "job.fast", 29*time.Minute, "{}")
	h.job("p-due", job.Pending, "job.default", time.Hour, "{}")
	h.deadline("p-due", time.Second)
	h.job("p-young", job.Pending, "job.default", time.Hour, "{}")
	h.deadline("p-young", -time.Second)
	h.job("s-done", job.Succeeded, "job.default", time.Hour, "{}")
	h.deadline("s-done", time.Second)
	for _, id := range []string{"d-young", "r-young"} { // they have been there for no longer, however old they are
		h.redis.HSet("job:"+id, "created_at", fmt.Sprint(h.clock.Now().Add(-2*time.Hour).UnixMilli()))
	}
	h.redis.ZAdd("job:index:DISPATCHED", 1, "d-young") // a list says only whom to look at
	r.tick()
	assert.ElementsMatch(t, []string{
		"d-due: DISPATCHED for 5m0s, at most 5m0s",
		"fast-due: DISPATCHED for 21s, at most 20s",
		"r-due: RUNNING for 31m0s, at most 30m0s",
		"p-due: PENDING 1s past its deadline",
	}, r.asked)
	assert.Equal(t, 2, r.stale[job.Dispatched])
	assert.Equal(t, 1, r.stale[job.Running])
	assert.Equal(t, 1, r.stale[job.Pending])

	r.asked = nil
	r.tick()
	assert.Empty(t, r.asked)
	assert.Zero(t, r.stale[job.Dispatched])
}

// A job has no more time on a silent worker than it had to get there.
func TestAJobOnASilentWorker(t *testing.T) {
	r := newReconciler(t)
	r.Timeouts.Silence = func(worker string) time.Duration {
		return map[string]time.Duration{"dead": 6 * time.Minute, "dying": 4 * time.Minute}[worker]
	}
	for id, c := range map[string]struct {
		state         job.State
		topic, worker string
		age           time.Duration
	}{
		"due":       {job.Running, "job.default", "dead", 5 * time.Minute},
		"fast-due":  {job.Running, "job.fast", "dying", time.Minute},
		"young":     {job.Running, "job.default", "dead", 5*time.Minute - 1e6},
		"dying":     {job.Running, "job.default", "dying", 10 * time.Minute},
		"alive":     {job.Running, "job.default", "alive", 10 * time.Minute},
		"slow":      {job.Running, "job.slow", "dead", 10 * time.Minute},
		"topic":     {job.Running, "job.default", "", 10 * time.Minute},
		"scheduled": {job.Scheduled, "job.default", "dead", 10 * time.Minute},
	} {
		r.h.job(id, c.state, c.topic, c.age, "{}")
		r.h.redis.HSet("job:"+id, "worker", c.worker)
	}
	r.tick()
	assert.ElementsMatch(t, []string{
		"due: RUNNING on dead, which is silent for 6m0s, at most 5m0s",
		"fast-due: RUNNING on dying, which is silent for 4m0s, at most 20s",
	}, r.asked)
}

func TestAJobIsTimedOutOnceForTwoReasons(t *testing.T) {
	r := newReconciler(t)
	r.h.job("job-1", job.Dispatched, "job.default", time.Hour, "{}")
	r.h.deadline("job-1", time.Minute)
	r.tick()
	assert.Len(t, r.asked, 1)
}

// What cannot be timed out does not stand in the way of what comes after it.
func TestATickGoesOnBatchByBatch(t *testing.T) {
	r := newReconciler(t)
	for i := range 20 {
		r.h.job(fmt.Sprintf("job-%02d", i), job.Dispatched, "job.default", time.Hour-time.Duration(i)*time.Second, "{}")
	}
	_, _ = r.h.redis.ZAdd("job:index:DISPATCHED", 1, "lost") // without a record
	for _, id := range []string{"job-00", "job-01", "job-05", "job-19"} {
		r.fails[id] = []error{lock.ErrBusy, lock.ErrBusy}
	}
	r.tick()
	assert.Len(t, r.asked, 24, "those that were busy once more")
	assert.Equal(t, 20, r.stale[job.Dispatched])
	r.asked = nil
	r.tick()
	assert.Len(t, r.asked, 4)
	r.asked = nil
	r.tick()
	assert.Empty(t, r.asked)
}

func TestATickIsBounded(t *testing.T) {
	r := newReconciler(t)
	r.MaxIterations = 2
	for i := range 10 {
		r.h.job(fmt.Sprintf("job-%02d", i), job.Dispatched, "job.default", time.Hour, "{}")
	}
	r.tick()
	assert.Len(t, r.asked, 6)
}

// What stays in a list must not keep out for ever what comes after it.
func TestATickGoesOnWhereABoundedOneHasStopped(t *testing.T) {
	r := newReconciler(t)
	r.MaxIterations = 2
	for i := range 10 {
		id := fmt.Sprintf("job-%02d", i)
		r.h.job(id, job.Dispatched, "job.default", time.Hour-time.Duration(i)*time.Second, "{}")
		if i < 8 {
			r.fails[id] = slices.Repeat([]error{lock.ErrBusy}, 100)
		}
	}
	r.tick()
	assert.Len(t, r.asked, 6+6)
	r.asked = nil
	r.h.ticks(3, r.Run) // the second of them begins at the top again
	assert.True(t, slices.ContainsFunc(r.asked, func(asked string) bool { return strings.HasPrefix(asked, "job-09: ") }))
	assert.Equal(t, 2*2, strings.Count(strings.Join(r.asked, "\n"), "job-00:"))
}

// One failure may be its job's. A replica that is cut off from NATS fails at every job: recovery must not
// wait for it, neither for its next tick nor for the end of this one.
func TestATickThatCannotDoItsWorkLeavesTheNextToOthers(t *testing.T) {
	cutOff := errors.New("no NATS")
	for name, c := range map[string]struct {
		fails map[string]error // at every try
		harm  func(h *harness)
		asked int
		kept  bool
	}{
		"all went well":                   {asked: 4, kept: true},
		"a job failed":                    {fails: map[string]error{"job-1": cutOff}, asked: 4, kept: true},
		"two did, and one between not":    {fails: map[string]error{"job-1": cutOff, "job-3": cutOff}, asked: 4, kept: true},
		"busy locks":                      {fails: map[string]error{"job-1": lock.ErrBusy, "job-2": lock.ErrBusy, "job-3": lock.ErrBusy}, asked: 4 + 3, kept: true},
		"records that have moved on":      {fails: map[string]error{"job-1": store.ErrFenced, "job-2": store.ErrFenced}, asked: 4, kept: true},
		"two failed in a row":             {fails: map[string]error{"job-1": cutOff, "job-2": cutOff}, asked: 3},
		"two did, and a busy one between": {fails: map[string]error{"job-0": cutOff, "job-1": lock.ErrBusy, "job-2": cutOff}, asked: 3},
		"jobs not readable":               {harm: func(h *harness) { _ = h.redis.Set("job:index:RUNNING", "no sorted set") }},
	} {
		r := newReconciler(t)
		r.Lock.Keep, r.MaxRetries = lock.Renewed, 1
		for i := range 4 {
			r.h.job(fmt.Sprint("job-", i), job.Dispatched, "job.default", time.Hour-time.Duration(i)*time.Second, "{}")
		}
		for id, err := range c.fails {
			r.fails[id] = slices.Repeat([]error{err}, 9)
		}
		if c.harm != nil {
			c.harm(r.h)
		}
		r.tick()
		assert.Len(t, r.asked, c.asked, name)
		r.h.pass(poll)
		assert.Equal(t, c.kept, r.h.redis.Exists("lock"), name)
		r.h.calls = nil
		r.tick()
		assert.Equal(t, c.kept, len(r.h.calls) > 0, name)
	}
}

// Jobs that nobody can bring on end a tick early, and not each one: they come last in the next.
func TestJobsThatFailKeepNobodyOut(t *testing.T) {
	r := newReconciler(t)
	r.Lock.Keep, r.MaxRetries = lock.Released, 1
	for i := range 4 {
		r.h.job(fmt.Sprint("job-", i), job.Dispatched, "job.default", time.Hour-time.Duration(i)*time.Second, "{}")
	}
	for _, id := range []string{"job-0", "job-1"} {
		r.fails[id] = slices.Repeat([]error{errors.New("it cannot be")}, 9)
	}
	r.h.ticks(3, r.Run)
	var order []string
	for _, asked := range r.asked {
		id, _, _ := strings.Cut(asked, ":")
		order = append(order, id)
	}
	assert.Equal(t, []string{"job-0", "job-1", "job-2", "job-3", "job-0", "job-1", "job-0", "job-1"}, order)
}

// Nor do they where they fill a batch: what comes after it is visited first.
func TestJobsThatFailFillNoTick(t *testing.T) {
	r := newReconciler(t)
	r.Lock.Keep, r.MaxRetries = lock.Released, 1
	for i := range 7 {
		id := fmt.Sprint("job-", i)
		r.h.job(id, job.Dispatched, "job.default", time.Hour-time.Duration(i)*time.Second, "{}")
		if i < 4 {
			r.fails[id] = slices.Repeat([]error{errors.New("it cannot be")}, 9)
		}
	}
	r.h.ticks(3, r.Run) // of batches of three
	for _, id := range []string{"job-4", "job-5", "job-6"} {
		assert.Equal(t, string(job.Timeout), r.h.redis.HGet("job:"+id, "state"), id)
	}
}

// A job that has failed once does not wait for those that fail for ever.
func TestAJobThatFailedOnceKeepsItsTurn(t *testing.T) {
	r := newReconciler(t)
	r.Lock.Keep, r.MaxRetries = lock.Released, 1
	for i := range 3 {
		r.h.job(fmt.Sprint("job-", i), job.Dispatched, "job.default", time.Hour-time.Duration(i)*time.Second, "{}")
	}
	for id, n := range map[string]int{"job-0": 9, "job-1": 9, "job-2": 1} {
		r.fails[id] = slices.Repeat([]error{errors.New("it cannot be")}, n)
	}
	r.h.ticks(3, r.Run)
	assert.Equal(t, string(job.Timeout), r.h.redis.HGet("job:job-2", "state"))
}

// With one job a replica that is cut off meets one failure a tick.
func TestAJobThatFailsInTwoTicksIsLeftToOthers(t *testing.T) {
	r := newReconciler(t)
	r.Lock.Keep = lock.Renewed
	r.h.job("job-1", job.Dispatched, "job.default", time.Hour, "{}")
	r.fails["job-1"] = slices.Repeat([]error{errors.New("no NATS")}, 9)
	r.h.ticks(2, func(ctx context.Context, beat clockwork.Ticker) { r.Run(ctx, beat) })
	assert.Len(t, r.asked, 6, "each with all its tries")
	r.h.pass(poll)
	assert.False(t, r.h.redis.Exists("lock"))
}

// What a tick has not counted it does not tell.
func TestStaleJobsAreNotForgottenWhileRedisIsAway(t *testing.T) {
	for name, harm := range map[string]func(h *harness){
		"no lock": func(h *harness) { h.redis.SetError("LOADING") },
		"no list": func(h *harness) { _ = h.redis.Set("job:index:RUNNING", "no sorted set") },
	} {
		r := newReconciler(t)
		r.h.job("job-1", job.Dispatched, "job.default", time.Hour, "{}")
		r.fails["job-1"] = []error{lock.ErrBusy, lock.ErrBusy}
		r.tick()
		harm(r.h)
		r.tick()
		assert.Equal(t, 1, r.stale[job.Dispatched], name)
	}
}

// A replica that leaves its ticks to others after one that failed finds none, as if another had ticked.
func TestAReplicaThatRestsFindsNoStaleJobs(t *testing.T) {
	r := newReconciler(t)
	r.Lock.Keep = lock.Renewed
	r.h.job("job-1", job.Dispatched, "job.default", time.Hour, "{}")
	r.fails["job-1"] = []error{lock.ErrBusy, lock.ErrBusy}
	r.tick()
	assert.Equal(t, 1, r.stale[job.Dispatched])
	_ = r.h.redis.Set("job:index:RUNNING", "no sorted set")
	r.h.ticks(1, r.Run)
	assert.Equal(t, 1, r.stale[job.Dispatched], "what failed tells nothing")
	r.h.ticks(1, r.Run)
	assert.Zero(t, r.stale[job.Dispatched], "it rests")
	assert.Len(t, r.asked, 2)
}

// A tick may last for longer than its lock was given.
func TestALongTickHoldsItsLock(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(h *harness)
		want int
	}{
		"its own":     {func(*harness) {}, 10},
		"another's":   {func(h *harness) { _ = h.redis.Set("lock", "another") }, 4},
		"unreachable": {func(h *harness) { h.redis.SetError("LOADING") }, 3},
	} {
		r := newReconciler(t)
		r.Lock.Keep = lock.Renewed
		for i := range 10 {
			r.h.job(fmt.Sprintf("job-%02d", i), job.Dispatched, "job.default", time.Hour, "{}")
		}
		asked := 0
		r.TimeOut = func(context.Context, *store.Record, string) error {
			r.h.pass(poll / 2)
			if asked++; asked == 3 {
				c.lose(r.h)
			}
			return nil
		}
		r.tick()
		assert.Equal(t, c.want, asked, name)
	}
}

func TestATimeoutIsTriedAFewTimesInATick(t *testing.T) {
	away := errors.New("no Redis")
	busy := fmt.Errorf("x: %w", lock.ErrBusy)
	for _, c := range []struct {
		fails []error
		asked int
	}{
		{[]error{away}, 2},
		{[]error{away, away, away}, 3},
		{[]error{busy}, 2},
		{[]error{busy, busy, busy}, 2}, // whoever is at it will bring it on
	} {
		r := newReconciler(t)
		r.h.job("job-1", job.Dispatched, "job.default", time.Hour, "{}")
		r.fails["job-1"] = c.fails
		began := r.h.clock.Now()
		r.tick()
		assert.Len(t, r.asked, c.asked)
		assert.Equal(t, errors.Is(c.fails[0], lock.ErrBusy), r.h.clock.Since(began) > 0, "it waits for whoever has the lock")
	}
}

func TestAnotherReplicasTickIsItsOwn(t *testing.T) {
	r := newReconciler(t)
	r.h.job("job-1", job.Dispatched, "job.default", time.Hour, "{}")
	r.fails["job-1"] = []error{lock.ErrBusy, lock.ErrBusy}
	r.tick()
	assert.Equal(t, 1, r.stale[job.Dispatched])
	_ = r.h.redis.Set("lock", "another")
	r.tick()
	assert.Len(t, r.asked, 2)
	assert.Zero(t, r.stale[job.Dispatched], "it has found none")
	r.h.redis.Del("lock")
	r.tick()
	assert.Len(t, r.asked, 3)
}

func TestATickEndsEarlyWithoutRedisOrWithItsContext(t *testing.T) {
	r := newReconciler(t)
	for i := range 6 {
		r.h.job(fmt.Sprint("job-", i), job.Dispatched, "job.default", time.Hour, "{}")
	}
	timeOut := r.TimeOut
	ctx, cancel := context.WithCancel(t.Context())
	r.TimeOut = func(inner context.Context, rec *store.Record, reason string) error {
		cancel()
		assert.NoError(t, inner.Err(), "what has begun is not cut off")
		return timeOut(inner, rec, reason)
	}
	r.Run(ctx, &beat{left: 1, end: func() {}})
	assert.Len(t, r.asked, 1)
	assert.False(t, r.h.redis.Exists("lock"), "the lock is given back all the same")

	r.TimeOut = timeOut
	r.h.redis.SetError("LOADING")
	r.h.ticks(2, r.Run)
	r.h.redis.SetError("")
	r.tick()
	assert.Len(t, r.asked, 6)
}
