package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/routing"
	"github.com/wavetank-sim/wavetank/engine/settings"
)

// errStale says that every pick met a worker past its TTL. To errors.Is it is ErrNoWorkers, as the
// documented classification has it (Stale workers).
var errStale = fmt.Errorf("%w: stale worker", routing.ErrNoWorkers)

// pick chooses a worker that is alive, with a few re-picks (Stale workers). A topic subject bypasses the
// check: it names no worker.
func (e *Engine) pick(ctx context.Context, req *job.Request) (routing.Pick, error) {
	var err error
	for attempt := range e.settings.MaxDispatchRetries {
		if attempt > 0 {
			if cut := e.beforeRepick(ctx, req.JobID); cut != nil {
				return routing.Pick{}, errors.Join(err, cut)
			}
		}
		var pick routing.Pick
		pick, err = e.strategy.PickSubject(req, e.registry.Snapshot(), e.registry.IsAlive, e.given, func(n int) int { return e.breakTie(ctx, req.JobID, n) })
		if err != nil {
			return routing.Pick{}, err
		}
		if pick.WorkerID == "" || e.registry.IsAlive(pick.WorkerID) {
			return pick, nil
		}
		err = fmt.Errorf("topic %q, worker %s: %w", req.Topic, pick.WorkerID, errStale)
		e.metrics.StaleWorkerRetries.WithLabelValues(req.Topic, pick.WorkerID).Inc()
		e.logJob(ctx, slog.LevelWarn, "stale worker detected, retrying dispatch", req.JobID, req.Topic,
			slog.String("worker_id", pick.WorkerID), slog.Int("dispatch_attempt", attempt))
	}
	return routing.Pick{}, err
}

// given is what is added to a worker's load.
func (e *Engine) given(workerID string) int {
	if !e.settings.CountDispatches {
		return 0
	}
	return e.registry.Given(workerID)
}

// breakTie chooses one of n equally loaded workers.
func (e *Engine) breakTie(ctx context.Context, jobID string, n int) int {
	if e.settings.TieBreak != settings.Drawn {
		return 0
	}
	return int(e.random.Uint64(phase.With(ctx, jobID, phase.Pick)) % uint64(n))
}

// beforeRepick is the tiny jitter of the alternative in Stale workers: time in which a heartbeat or a sweep may
// change what the next pick sees. The job's lock stays held, and renewed. It fails when ctx ends.
func (e *Engine) beforeRepick(ctx context.Context, jobID string) error {
	if e.settings.StaleWorker != settings.JitteredRetries {
		return nil
	}
	random := e.random.Uint64(phase.With(ctx, jobID, phase.Pick))
	return e.wait(ctx, jitter(random, e.settings.StaleRetryJitter))
}

// reasonCode maps a pick's error; what a stale worker is called is a setting (Stale workers, next step 2).
func (e *Engine) reasonCode(err error) string {
	if errors.Is(err, errStale) {
		return e.settings.StaleReasonCode
	}
	return routing.ReasonCode(err)
}
