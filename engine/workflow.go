package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/lock"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/saga"
	"github.com/wavetank-sim/wavetank/engine/store"
	"github.com/wavetank-sim/wavetank/engine/workflow"
)

// workflows makes the part of the engine that runs workflows, or returns nil where it has none.
func (e *Engine) workflows(c Config) *workflow.Engine {
	if !c.Workflows {
		return nil
	}
	s := &e.settings.Workflow
	locks := *e.locks // as a job's, but counted among none of those
	locks.Waited, locks.Abandoned = nil, nil
	locks.Phases = lock.Phases{Acquire: phase.RunLock, Renew: phase.RunRenew, Release: phase.RunUnlock}
	w := &workflow.Engine{
		Runs: &workflow.Store{Redis: c.Redis, Clock: c.Clock, Timeout: e.settings.StoreOpTimeout, Fence: s.FenceRuns, Durable: s.DurableTimers},
		Jobs: e.store, Locks: &locks, Clock: c.Clock, Logger: e.log,
		Submit:      e.submitStep,
		LockTTL:     s.RunLockTTL,
		StrictLock:  s.StrictRunLock,
		RetryDelay:  e.settings.RetryDelayStore,
		Durable:     s.DurableTimers,
		DurableFrom: s.DurableFrom,
		DelayPoll:   s.DelayPoll,
		RunsPoll:    e.settings.PollInterval,
		BatchSize:   e.settings.BatchSize,
	}
	w.Runs.Also = e.sagaOfRun
	if s.DelayPoller {
		w.Poller = e.tickLock(workflow.PollerKey, phase.PollLock)
		w.Poller.TTL = 2 * s.DelayPoll
	}
	if s.RunReconciler {
		w.Reconciler = e.tickLock(workflow.ReconcilerKey, phase.RunsLock)
	}
	return w
}

// sagaOfRun adds to the MULTI of a run's write what becomes of its saga: of a run that has succeeded nothing is to be
// undone any more, and of one that has failed everything, however that came about. In the documented design only a
// failure that a worker calls final rolls back (Scheduler internals, section 4).
func (e *Engine) sagaOfRun(ctx context.Context, p redis.Pipeliner, r *workflow.Run) error {
	if !r.Compensated() {
		return nil
	}
	name := saga.Name(r.Tenant, r.RunID)
	stack := saga.StackKey(name)
	switch left := time.UnixMilli(r.Until()).Sub(e.clock.Now()); {
	case r.State == workflow.Succeeded:
		p.Del(ctx, stack)
	case r.State == workflow.Failed && e.settings.Saga.DurableRollback:
		return e.saga.PutRunFailed(ctx, p, name)
	case r.State == workflow.Running && left > 0: // a delay may be longer than a stack is kept otherwise
		p.Expire(ctx, stack, left+saga.StackTTL)
	}
	return nil
}

// startWorkflows adds the loops of workflows, if there are to be any. What they have begun besides is waited
// for by the returned function, once nothing else of the engine runs.
func (e *Engine) startWorkflows(ctx context.Context, loops *errgroup.Group) (stop func()) {
	if e.runs == nil {
		return func() {}
	}
	loops.Go(func() error { e.runs.Run(ctx); return nil })
	return e.runs.Close
}

// submitStep submits a job of a run as [Client.Submit] does, but whether it fits into a message StartRun has seen; and it
// publishes the request of a job that has a record already only if it is asked again: whoever has made the record publishes
// it, or the pending replayer takes it up.
func (e *Engine) submitStep(ctx context.Context, req job.Request, again bool) (made bool, err error) {
	packet, err := pack(&req)
	if err != nil {
		return false, err
	}
	if made, err = create(ctx, e.store, &req, packet); err != nil || !made && !again {
		return made, err
	}
	return made, publishRequest(ctx, e.js, req.JobID, packet, e.settings.PublishTimeout)
}

// jobOver tells the run that a job belongs to, if it belongs to one, that the job's record has come to its end.
func (e *Engine) jobOver(rec *store.Record) {
	if e.runs == nil || !rec.State.Terminal() || len(rec.Packet) == 0 { // a job whose record is younger than this handling is no run's
		return
	}
	id := rec.JobID
	req, err := rec.Request()
	if err != nil {
		e.log.LogAttrs(context.Background(), slog.LevelWarn, "request cannot be read back", slog.String("job_id", id), slog.Any("error", err))
		return
	}
	if req.WorkflowID == "" {
		return
	}
	e.runs.Go(func(ctx context.Context) { e.runs.HandleJobResult(ctx, id, req.WorkflowID) })
}

// StartRun stores a run, which the schedulers with [Config.Workflows] then take up: with durable_timers and
// delay_poller within three polls of theirs, else at the workflow reconciler's next tick. After an error, start the
// same run id again: there is one run of it, as it was first stored. But one with a step that
// is ErrTooLarge can never be started, and nothing of it is stored. It says whether this call has stored it.
func (c *Client) StartRun(ctx context.Context, run workflow.Run) (started bool, err error) {
	if err := run.Validate(); err != nil {
		return false, fmt.Errorf("start run: %w", err)
	}
	for _, req := range run.Requests() {
		packet, err := pack(&req)
		if err == nil {
			err = c.fits(packet)
		}
		if err != nil {
			return false, fmt.Errorf("start run %s: job %s: %w", run.RunID, req.JobID, err)
		}
	}
	safe := c.replica.Since(ctx, run.RunID)
	if started, err = c.runs.Create(ctx, run); err == nil {
		err = safe(ctx)
	}
	if err != nil {
		return false, fmt.Errorf("start run %s: %w", run.RunID, err)
	}
	return started, nil
}
