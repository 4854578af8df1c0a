package engine

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/recovery"
	"github.com/wavetank-sim/wavetank/engine/saga"
)

// startReconciler adds the reconciler's loop, if there is to be one. Its first tick comes one poll
// from now.
func (e *Engine) startReconciler(ctx context.Context, loops *errgroup.Group) {
	if !e.settings.Reconciler {
		return
	}
	r := e.reconciler()
	beat := e.clock.NewTicker(e.settings.PollInterval)
	loops.Go(func() error { defer beat.Stop(); r.Run(ctx, beat); return nil })
}

func (e *Engine) reconciler() *recovery.Reconciler {
	r := &recovery.Reconciler{
		Store: e.store, Lock: e.tickLock(recovery.ReconcilerKey, phase.ReconcileLock), Clock: e.clock, Logger: e.log,
		Timeouts:      e.timeouts,
		BatchSize:     e.settings.BatchSize,
		MaxIterations: e.settings.MaxIterations,
		MaxRetries:    e.settings.MaxRetries,
		TimeOut:       e.timeOut,
		Stale:         func(s job.State, n int) { e.metrics.StaleJobs.WithLabelValues(string(s)).Set(float64(n)) },
	}
	if e.settings.Saga.DurableRollback {
		r.RollBack, r.RollbacksKey = e.saga.Rollback, saga.RollbacksKey
	}
	return r
}

// startReplayer adds the replayer's loop, if there is anything that it is to take up.
func (e *Engine) startReplayer(ctx context.Context, loops *errgroup.Group) {
	r := e.replayer()
	if len(r.Waits) == 0 && r.More == nil {
		return
	}
	beat := e.clock.NewTicker(e.settings.PollInterval)
	loops.Go(func() error { defer beat.Stop(); r.Run(ctx, beat); return nil })
}

func (e *Engine) replayer() *recovery.Replayer {
	r := &recovery.Replayer{
		Store: e.store, Lock: e.tickLock(recovery.ReplayerKey, phase.ReplayLock), Clock: e.clock, Logger: e.log,
		Waits:         e.waits(),
		BatchSize:     e.settings.BatchSize,
		MaxIterations: e.settings.MaxIterations,
		Granted:       e.granted,
		Replay:        e.replay,
	}
	if e.output.keeps() {
		r.More = e.resumeScans
	}
	return r
}

// waits are the states in which jobs are not to be left alone.
func (e *Engine) waits() (waits []recovery.Wait) {
	s := &e.settings
	if s.PendingReplayer {
		waits = append(waits, recovery.Wait{State: job.Pending, Age: s.PendingAge}, recovery.Wait{State: job.ApprovalRequired, Age: s.PendingAge})
	}
	if s.SweepScheduled {
		waits = append(waits, recovery.Wait{State: job.Scheduled, Age: s.ScheduledAge})
	}
	if e.resumes() {
		waits = append(waits, recovery.Wait{State: job.Dispatched, Age: s.IntentAge})
	}
	return waits
}
