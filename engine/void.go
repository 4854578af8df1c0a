package engine

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/faultline-sim/faultline/engine/bus"
	"github.com/faultline-sim/faultline/engine/job"
	"github.com/faultline-sim/faultline/engine/phase"
	"github.com/faultline-sim/faultline/engine/store"
)

// void takes the place of a dispatch in the stream, before its job ends: afterwards no publish of the
// epoch can follow, not even one that is under way. The caller holds the lock of the job, which rec
// shows DISPATCHED, and ends it next. If the dispatch was stored before, worker is who has it. After an
// error, which is a retry event, neither is known.
//
// A job that was dispatched without an epoch, or to a topic, has no place in the stream to take.
func (e *Engine) void(ctx context.Context, rec *store.Record) (worker string, err error) {
	if !e.settings.VoidIntents || !e.settings.Epochs || rec.State != job.Dispatched || rec.Epoch == 0 || rec.Worker == "" {
		return "", nil
	}
	body, err := json.Marshal(job.Dispatch{JobID: rec.JobID, Topic: rec.Topic, Epoch: rec.Epoch})
	if err != nil {
		return "", err
	}
	err = bus.Publish(phase.With(ctx, rec.JobID, phase.VoidPublish), e.js, bus.Message{
		Subject: bus.EpochSubject(rec.Worker, rec.JobID, rec.Epoch), JobID: rec.JobID, Epoch: rec.Epoch, Void: true, Once: true, Body: body,
	}, e.settings.PublishTimeout)
	switch {
	case err == nil:
		e.metrics.IntentsVoided.WithLabelValues(rec.Topic).Inc()
		e.log.LogAttrs(ctx, slog.LevelInfo, "dispatch voided",
			slog.String("job_id", rec.JobID), slog.String("topic", rec.Topic), slog.Int64("epoch", rec.Epoch))
		return "", nil
	case !errors.Is(err, bus.ErrStored):
		return "", RetryAfter(err, e.settings.RetryDelayStore, phase.VoidPublish, "")
	}
	held, readErr := e.readEpoch(ctx, rec.JobID, rec.Epoch)
	if readErr != nil {
		return "", RetryAfter(errors.Join(err, readErr), e.settings.RetryDelayStore, phase.PublishRead, "")
	}
	if held.Void {
		return "", nil
	}
	return held.WorkerID, nil
}
