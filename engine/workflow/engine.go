package workflow

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// Engine advances runs. It is safe for concurrent use. All exported fields but Poller and Reconciler are
// required; without those two it does nothing by itself but fire its own timers.
type Engine struct {
	Runs   *Store
	Jobs   *store.Store
	Locks  *lock.Locker // of runs
	Clock  clockwork.Clock
	Logger *slog.Logger

	// Submit submits a job as a client does, if it has no record yet; if again it publishes its request in
	// any case. It says whether it has made the record, so that after an error nobody else publishes it.
	Submit func(ctx context.Context, req job.Request, again bool) (made bool, err error)

	LockTTL     time.Duration // of a run's lock
	StrictLock  bool          // without the lock in Redis a run is not advanced, but comes again
	RetryDelay  time.Duration // before a run comes again that could not be advanced
	Durable     bool          // delays are kept in Redis, too
	DurableFrom time.Duration // from this length on
	DelayPoll   time.Duration // how often the poller looks
	RunsPoll    time.Duration // how often the reconciler looks
	BatchSize   int           // runs that the reconciler lists at once

	Poller     *lock.Tick // nil: nobody fires the timers of replicas that are gone, but a start
	Reconciler *lock.Tick // nil: a run waits for its timers and its jobs alone

	locals locals
	timers timers
	unsent unsent
}

// StartRun advances a run: it takes in the ends of its jobs, and submits the job of every step that is due. It does
// nothing for a run that is over, or that there is none of. After an error, call it again.
func (e *Engine) StartRun(ctx context.Context, runID string) error {
	_, err := e.reconcileRun(ctx, runID)
	return err
}

// HandleJobResult advances the run that a job belongs to, once the job's record says that it is over.
func (e *Engine) HandleJobResult(ctx context.Context, jobID, workflowID string) {
	if runID := RunOf(jobID); runID != "" && runID == workflowID { // else it is a job of no run
		e.start(ctx, runID)
	}
}

// reconcileRun advances a run as StartRun does, and returns it; without such a run it is the zero Run.
func (e *Engine) reconcileRun(ctx context.Context, runID string) (run Run, err error) {
	err = e.withRunLock(ctx, runID, func(ctx context.Context) error {
		run, err = e.advance(ctx, runID)
		return err
	})
	return run, err
}

// advance holds the run's lock, or goes on without. The order is: the run, the jobs, the timer. A job that is
// not submitted after all has no record, by which the next advance knows it. A run that there is none of has no id.
func (e *Engine) advance(ctx context.Context, runID string) (Run, error) {
	run, err := e.Runs.Read(ctx, runID)
	if errors.Is(err, ErrNotFound) {
		return Run{}, nil
	}
	if run.Over() {
		e.unsent.drop(runID)
	}
	if err != nil || run.Over() {
		return run, err
	}
	records, err := e.records(ctx, run.jobs())
	if err != nil {
		return run, err
	}
	if run.advance(records, e.Clock.Now()) {
		if err := e.Runs.Write(ctx, &run); err != nil {
			return run, err
		}
		if run.Over() {
			e.unsent.drop(runID)
			e.Logger.LogAttrs(ctx, slog.LevelInfo, "run over", slog.String("run_id", runID), slog.String("workflow_id", run.WorkflowID),
				slog.String("state", string(run.State)), slog.String("reason", run.Reason))
			return run, nil
		}
	}
	err = e.submit(ctx, &run, records)
	e.scheduleAfter(ctx, &run)
	return run, err
}

// records reads the jobs of steps. One without a record that can be read is not in the map.
func (e *Engine) records(ctx context.Context, ids []string) (map[string]*store.Record, error) {
	list, unreadable, err := e.Jobs.ReadAll(phase.With(ctx, "", phase.StepRead), ids)
	if err != nil {
		return nil, err
	}
	for _, err := range unreadable {
		e.Logger.LogAttrs(ctx, slog.LevelWarn, "job of a step cannot be read", slog.Any("error", err))
	}
	records := make(map[string]*store.Record, len(list))
	for i := range list {
		records[list[i].JobID] = &list[i]
	}
	return records, nil
}

// submit submits the jobs of steps that say SUBMITTED and have none yet.
func (e *Engine) submit(ctx context.Context, run *Run, records map[string]*store.Record) error {
	var errs []error
	for i := range run.Steps {
		s := &run.Steps[i]
		if s.State != StepSubmitted {
			continue
		}
		unsent, rec := e.unsent.has(s.JobID), records[s.JobID]
		if rec != nil && (!unsent || rec.State != job.Pending) { // somebody has its request
			e.unsent.remove(s.JobID)
			continue
		}
		made, err := e.Submit(ctx, s.request(run, i, s.Attempt), unsent)
		switch {
		case err == nil:
			e.unsent.remove(s.JobID)
			continue
		case made:
			e.unsent.add(s.JobID)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// unsent are the jobs whose records this replica has made and whose requests it does not know to be published: it
// repeats them. A job whose replica is gone, or does not know whether it made the record, is PENDING, and the
// pending replayer's.
type unsent struct {
	mu   sync.Mutex
	jobs map[string]bool
}

func (u *unsent) has(jobID string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.jobs[jobID]
}

func (u *unsent) add(jobID string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.jobs == nil {
		u.jobs = map[string]bool{}
	}
	u.jobs[jobID] = true
}

func (u *unsent) remove(jobID string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.jobs, jobID)
}

// drop forgets the jobs of a run that is over.
func (u *unsent) drop(runID string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.jobs, func(jobID string, _ bool) bool { return RunOf(jobID) == runID })
}

// scheduleAfter has a run be advanced when the earliest of its delays is over: by a timer in memory. The earliest of
// those that are long is kept in Redis, too, which outlives this replica. Without Redis the timer in memory is left
// (Scheduler internals, section 8).
func (e *Engine) scheduleAfter(ctx context.Context, run *Run) {
	at, ok := run.next(0)
	if !ok {
		return
	}
	k := timer{at: at}
	if long, ok := run.next(e.DurableFrom); ok && e.Durable {
		k.kept, k.member = long, run.member()
	}
	if k.member != "" && !e.timers.keeps(run.RunID, k.kept) {
		if err := e.Runs.AddTimer(ctx, k.member, k.kept.UnixMilli()); err != nil {
			e.Logger.LogAttrs(ctx, slog.LevelWarn, "delay timer not persisted, in-memory only",
				slog.String("run_id", run.RunID), slog.Time("fire_at", k.kept), slog.Any("error", err))
			k.member = ""
		}
	}
	e.arm(run.RunID, &k)
}

// arm sets the run's timer in memory, unless it has an earlier one.
func (e *Engine) arm(runID string, k *timer) {
	t := &e.timers
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	if old := t.armed[runID]; old != nil {
		if old.member != "" && (k.member == "" || old.kept.Before(k.kept)) { // as Redis keeps the earliest
			k.member, k.kept = old.member, old.kept
		}
		if old.at.Before(k.at) {
			old.member, old.kept = k.member, k.kept
			return
		}
		old.clock.Stop()
	}
	if t.armed == nil {
		t.armed = map[string]*timer{}
	}
	k.clock = e.Clock.AfterFunc(e.Clock.Until(k.at), func() { e.fire(runID, k) })
	t.armed[runID] = k
}

// fire advances a run whose delay is over. If it is the one in Redis, its entry goes first, as documented; the advance
// keeps the next one.
func (e *Engine) fire(runID string, k *timer) {
	t := &e.timers
	t.mu.Lock()
	if t.closed || t.armed[runID] != k {
		t.mu.Unlock()
		return
	}
	delete(t.armed, runID)
	member := k.member
	if k.kept.After(k.at) {
		member = ""
	}
	t.pending.Add(1)
	t.mu.Unlock()
	defer t.pending.Done()
	ctx := context.Background()
	if member != "" {
		if err := e.Runs.RemoveTimer(ctx, member); err != nil {
			e.Logger.LogAttrs(ctx, slog.LevelWarn, "delay timer not removed", slog.String("run_id", runID), slog.Any("error", err))
		}
	}
	e.start(ctx, runID)
}

// start advances a run, and has it come again soon if that fails: what called for it is gone by now.
func (e *Engine) start(ctx context.Context, runID string) {
	if err := e.StartRun(ctx, runID); err != nil {
		e.Logger.LogAttrs(ctx, slog.LevelWarn, "run left for later", slog.String("run_id", runID), slog.Any("error", err))
		e.arm(runID, &timer{at: e.Clock.Now().Add(e.RetryDelay)})
	}
}
