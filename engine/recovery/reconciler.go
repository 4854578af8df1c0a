package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// ReconcilerKey is the key of the reconciler's lock.
const ReconcilerKey = "cordum:reconciler:default"

// Reconciler times out jobs that stay DISPATCHED or RUNNING, or are past their deadline. All fields
// are required.
type Reconciler struct {
	Store         *store.Store
	Lock          *lock.Tick
	Clock         clockwork.Clock
	Logger        *slog.Logger
	Timeouts      Timeouts
	BatchSize     int // jobs of one list that are read at once
	MaxIterations int // batches in one tick
	MaxRetries    int // tries of one job's timeout in one tick

	// TimeOut ends a job, for a reason in words, or leaves it alone if it finds it on time after all.
	// It takes the job's lock: after lock.ErrBusy it is tried once more, at the end of the tick.
	TimeOut func(ctx context.Context, listed *store.Record, reason string) error
	// Stale hears of each state how many jobs this replica's last tick found in it past their timeout
	// or deadline: none, if another replica had the lock, or it was left to the others. A tick that ended
	// early has not counted them all, and tells nothing.
	Stale func(s job.State, n int)
	// RollBack takes up the rollback of a saga that RollbacksKey says is due. What it could not do comes
	// again at a later tick; it notices the end of ctx. With no RollBack nobody looks there.
	RollBack     func(ctx context.Context, saga string) error
	RollbacksKey string // a sorted set

	list walker
}

// busyFor is how long a handling has to give a job's lock back before the tick looks at the job again. The replayer, which
// ticks at the same beat, takes up the same jobs.
const busyFor = time.Second

// Run ticks at each beat until ctx ends.
func (r *Reconciler) Run(ctx context.Context, beat clockwork.Ticker) {
	r.list = walker{named: r.rollBacks(), store: r.Store, lock: r.Lock, log: r.Logger, size: r.BatchSize, iterations: r.MaxIterations, again: busyFor, clock: r.Clock}
	Loop(ctx, beat, r.Lock, r.Logger, r.tick, func() { r.tell(nil) })
}

// rollBacks is the walk's visitor of sagas, or nil.
func (r *Reconciler) rollBacks() func(ctx context.Context, saga string) error {
	if r.RollBack == nil {
		return nil
	}
	return func(ctx context.Context, saga string) error {
		err := r.RollBack(ctx, saga)
		if err != nil {
			r.Logger.LogAttrs(ctx, slog.LevelWarn, "rollback left to the next tick", slog.String("saga", saga), slog.Any("error", err))
			err = fmt.Errorf("%w: %w", ErrOwn, err) // it may have run out of its own time, and timeouts are not to wait for it
		}
		return err
	}
}

func (r *Reconciler) tick(ctx context.Context) error {
	now := r.Clock.Now()
	found := map[string]job.State{} // by job: one that was busy is visited twice
	queries := []store.Query{
		{Key: store.IndexKey(job.Dispatched), Until: now.Add(-r.Timeouts.shortest())},
		{Key: store.IndexKey(job.Running), Until: now.Add(-r.Timeouts.running())},
		{Key: store.DeadlinesKey, Until: now},
	}
	if r.list.named != nil {
		queries = append(queries, store.Query{Key: r.RollbacksKey, Until: now})
	}
	err := r.list.walk(phase.With(ctx, "", phase.ReconcileRead), queries, func(ctx context.Context, rec *store.Record) (waits bool, err error) {
		reason := r.Timeouts.Overdue(rec, now)
		if reason == "" {
			return true, nil
		}
		found[rec.JobID] = rec.State
		return false, r.end(ctx, rec, reason)
	})
	if err == nil {
		r.tell(found)
	}
	return err
}

// end deals with the job's timeout, or fails.
func (r *Reconciler) end(ctx context.Context, rec *store.Record, reason string) error {
	var err error
	for range r.MaxRetries {
		err = r.TimeOut(ctx, rec, reason)
		if err == nil {
			return nil
		}
		if errors.Is(err, lock.ErrBusy) { // somebody is at it
			break
		}
	}
	r.Logger.LogAttrs(ctx, slog.LevelWarn, "timeout left to the next tick",
		slog.String("job_id", rec.JobID), slog.String("topic", rec.Topic), slog.Any("error", err))
	return err
}

func (r *Reconciler) tell(found map[string]job.State) {
	n := map[job.State]int{}
	for _, s := range found {
		n[s]++
	}
	for _, s := range job.States {
		if !s.Terminal() {
			r.Stale(s, n[s])
		}
	}
}
