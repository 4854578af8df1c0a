package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/faultline-sim/faultline/engine/job"
	"github.com/faultline-sim/faultline/engine/phase"
	"github.com/faultline-sim/faultline/engine/store"
)

// replay brings on a job that the replayer has found waiting for too long (seed 003, section 3): as
// its request would, if it came again. It reads the job once more, since the tick may have been at others
// for long.
func (e *Engine) replay(ctx context.Context, listed *store.Record) error {
	now, err := e.store.Read(phase.With(ctx, listed.JobID, phase.ReplayRead), listed.JobID)
	if errors.Is(err, store.ErrNotFound) || err == nil && now.State != listed.State {
		return nil
	}
	if err != nil {
		return fmt.Errorf("replay %s: %w", listed.JobID, err)
	}
	if listed.State == job.Dispatched {
		return e.resume(ctx, listed.JobID)
	}
	req, err := now.Request()
	if err != nil {
		return fmt.Errorf("replay %s: %w", listed.JobID, err)
	}
	err = e.HandleJobRequest(ctx, req)
	var retry *RetryableError
	if errors.As(err, &retry) && (retry.Phase == phase.LockAcquire || retry.Phase == phase.StateRead) {
		return err // it was not taken up: most likely somebody is at it
	}
	e.metrics.OrphansReplayed.WithLabelValues(listed.Topic).Inc()
	e.log.LogAttrs(ctx, slog.LevelWarn, "orphan replayed", slog.String("job_id", listed.JobID),
		slog.String("topic", listed.Topic), slog.String("state", string(listed.State)))
	return err
}
