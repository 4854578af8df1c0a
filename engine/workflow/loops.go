package workflow

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wavetank-sim/wavetank/engine/recovery"
)

// Of timers that nobody has taken up (Scheduler internals, section 8).
const (
	cleanEvery = 5 * time.Minute
	cleanAge   = time.Hour
)

// startDelayPoller adds the loop that fires timers which are due and were not fired: those of replicas that have
// died and not started again.
func (e *Engine) startDelayPoller(ctx context.Context, loops *errgroup.Group) {
	beat := e.Clock.NewTicker(e.DelayPoll)
	cleaned := e.Clock.Now()
	loops.Go(func() error {
		defer beat.Stop()
		recovery.Loop(ctx, beat, e.Poller, e.Logger, func(ctx context.Context) error {
			calls := context.WithoutCancel(ctx)
			if err := e.firePastDue(calls); err != nil {
				return err
			}
			if e.Clock.Since(cleaned) < cleanEvery {
				return nil
			}
			cleaned = e.Clock.Now() // after the pop, so that nothing goes that somebody would have fired
			return e.Runs.CleanTimers(calls, cleanAge)
		}, func() {})
		return nil
	})
}

// startReconciler adds the loop that advances every run that is not over, by its jobs' records and its delays.
func (e *Engine) startReconciler(ctx context.Context, loops *errgroup.Group) {
	beat := e.Clock.NewTicker(e.RunsPoll)
	loops.Go(func() error {
		defer beat.Stop()
		var health recovery.Health
		failed := map[string]bool{}
		recovery.Loop(ctx, beat, e.Reconciler, e.Logger, func(ctx context.Context) error { return e.reconcile(ctx, &health, failed) }, func() {})
		return nil
	})
}

// reconcile advances every run. What was failed at since it last got to its end comes after all others, and keeps none of
// them out.
func (e *Engine) reconcile(ctx context.Context, health *recovery.Health, failed map[string]bool) error {
	calls := context.WithoutCancel(ctx)
	var late []string
	for skip := 0; ; {
		ids, err := e.Runs.Live(calls, skip, e.BatchSize)
		if err != nil {
			return err
		}
		again := len(ids) == 0
		if again {
			ids = late
		}
		for _, id := range ids {
			if failed[id] && !again {
				late = append(late, id)
				skip++
				continue
			}
			if ctx.Err() != nil {
				return nil
			}
			if err := e.Reconciler.Hold(calls); err != nil {
				return err
			}
			run, err := e.reconcileRun(ctx, id)
			switch {
			case err != nil:
				e.Logger.LogAttrs(ctx, slog.LevelWarn, "run left to the next tick", slog.String("run_id", id), slog.Any("error", err))
				skip++
				failed[id] = true
			case run.RunID == "":
				err = e.Runs.Drop(calls, id)
			case !run.Over():
				skip++
			}
			if err := health.Saw(err); err != nil {
				return err
			}
		}
		if again {
			clear(failed)
			return nil
		}
	}
}

// Run recovers the timers, and polls and reconciles until ctx ends. Close comes after it.
func (e *Engine) Run(ctx context.Context) {
	if e.Durable {
		e.recoverDelayTimers(context.WithoutCancel(ctx))
	}
	var loops errgroup.Group
	if e.Durable && e.Poller != nil {
		e.startDelayPoller(ctx, &loops)
	}
	if e.Reconciler != nil {
		e.startReconciler(ctx, &loops)
	}
	_ = loops.Wait()
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
		e.arm(runOf(k.Member), &timer{at: k.At, member: k.Member, kept: k.At})
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
