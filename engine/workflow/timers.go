package workflow

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// timers are the delays that this replica has in memory, one for each run: the earliest. What is later is armed
// again when that one has fired.
type timers struct {
	mu      sync.Mutex
	armed   map[string]*timer // by run
	closed  bool
	pending sync.WaitGroup // what has been fired, or begun by [Engine.Go], and is not done
}

// timer is one delay in memory.
type timer struct {
	at     time.Time
	member string // its entry in Redis; "" if it has none
	clock  clockwork.Timer
}

// scheduleAfter has a run be advanced at a time: by a timer in memory and, if that is some time to come, by an entry
// in Redis, which outlives this replica. Without Redis the timer in memory is left (Scheduler internals, section 8).
func (e *Engine) scheduleAfter(ctx context.Context, run *Run, at time.Time) {
	if !e.Durable || e.Clock.Until(at) < e.DurableFrom {
		e.arm(run.RunID, "", at)
		return
	}
	member := run.member()
	if e.timers.has(run.RunID, member, at) {
		return
	}
	if err := e.Runs.AddTimer(ctx, member, at.UnixMilli()); err != nil {
		e.Logger.LogAttrs(ctx, slog.LevelWarn, "delay timer not persisted, in-memory only",
			slog.String("run_id", run.RunID), slog.Time("fire_at", at), slog.Any("error", err))
		member = ""
	}
	e.arm(run.RunID, member, at)
}

// has says whether the run has such a timer already.
func (t *timers) has(runID, member string, at time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.armed[runID]
	return k != nil && k.member == member && k.at.Equal(at)
}

// arm sets the run's timer in memory, unless it has an earlier one.
func (e *Engine) arm(runID, member string, at time.Time) {
	t := &e.timers
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	if k := t.armed[runID]; k != nil {
		if k.at.Before(at) {
			return
		}
		member = cmp.Or(member, k.member)
		k.clock.Stop()
	}
	if t.armed == nil {
		t.armed = map[string]*timer{}
	}
	k := &timer{at: at, member: member}
	k.clock = e.Clock.AfterFunc(e.Clock.Until(at), func() { e.fire(runID, k) })
	t.armed[runID] = k
}

// fire advances a run whose delay is over. The entry in Redis goes first, as documented: what a crash in
// between leaves undone, the reconciler finds.
func (e *Engine) fire(runID string, k *timer) {
	t := &e.timers
	t.mu.Lock()
	if t.closed || t.armed[runID] != k {
		t.mu.Unlock()
		return
	}
	delete(t.armed, runID)
	t.pending.Add(1)
	t.mu.Unlock()
	defer t.pending.Done()
	ctx := context.Background()
	if k.member != "" {
		if err := e.Runs.RemoveTimer(ctx, k.member); err != nil {
			e.Logger.LogAttrs(ctx, slog.LevelWarn, "delay timer not removed", slog.String("run_id", runID), slog.Any("error", err))
		}
	}
	e.start(ctx, runID)
}

// start advances a run, and has it come again soon if that fails: what called for it is gone by now.
func (e *Engine) start(ctx context.Context, runID string) {
	if err := e.StartRun(ctx, runID); err != nil {
		e.Logger.LogAttrs(ctx, slog.LevelWarn, "run left for later", slog.String("run_id", runID), slog.Any("error", err))
		e.arm(runID, "", e.Clock.Now().Add(e.RetryDelay))
	}
}

// Go runs fn in a goroutine that [Engine.Close] waits for.
func (e *Engine) Go(fn func(ctx context.Context)) {
	t := &e.timers
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.pending.Add(1)
	go func() {
		defer t.pending.Done()
		fn(context.Background())
	}()
}

// Close forgets the timers in memory, and waits for what they have begun. Those in Redis remain, for another
// replica or the next start.
func (e *Engine) Close() {
	t := &e.timers
	t.mu.Lock()
	t.closed = true
	for _, k := range t.armed {
		k.clock.Stop()
	}
	t.armed = nil
	t.mu.Unlock()
	t.pending.Wait()
}

// recoverDelayTimers takes up what an earlier process, or another one, has left in Redis: what is past due is fired
// at once, and for the rest there are timers in memory again (Scheduler internals, section 8). Their entries are
// there already, and stay.
func (e *Engine) recoverDelayTimers(ctx context.Context) {
	err := e.firePastDue(ctx)
	list, listErr := e.Runs.FutureTimers(ctx)
	if err := errors.Join(err, listErr); err != nil {
		e.Logger.LogAttrs(ctx, slog.LevelWarn, "delay timers not recovered", slog.Any("error", err))
	}
	for _, k := range list {
		e.arm(runOf(k.Member), k.Member, k.At)
	}
}

// firePastDue advances every run whose timer is due, and was not fired by who set it: one after the other,
// as goroutines that begin together would draw their locks' tokens in any order.
func (e *Engine) firePastDue(ctx context.Context) error {
	due, err := e.Runs.PopTimers(ctx)
	if len(due) > 0 {
		e.Go(func(ctx context.Context) {
			for _, member := range due {
				e.start(ctx, runOf(member))
			}
		})
	}
	return err
}
