package engine

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/phase"
	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/engine/store"
)

// voidError says that the stream holds a void in the place of the dispatch. It carries what was decided
// of the job, which whoever meets it may have to see to: who decided it may be gone.
type voidError struct{ job.Void }

func (v *voidError) Error() string {
	return "the dispatch is void: before it was published, the job was to be " + string(v.End)
}

// voids says whether the job has a place in the stream that can be taken. One that was dispatched without an
// epoch, or to a topic, has none; nor has one that is not DISPATCHED, unless its dispatch comes before that.
func (e *Engine) voids(rec *store.Record) bool {
	if !e.settings.VoidIntents || !e.settings.Epochs {
		return false
	}
	return rec.State == job.Dispatched && rec.Epoch != 0 && rec.Worker != "" || e.publishesAhead(rec)
}

// publishesAhead says whether the job may have been published of which DISPATCHED is not written yet: by a
// handling that got no further, or a publish that is under way still.
func (e *Engine) publishesAhead(rec *store.Record) bool {
	return e.settings.DispatchOrder == settings.PublishFirst && rec.State == job.Scheduled
}

// void takes the place of a dispatch in the stream, before its job goes where want says: afterwards no
// publish of the epoch can follow, not even one that is under way. The caller holds the job's lock. If
// the dispatch was stored before, worker is who has it, and the job is DISPATCHED to it, if it was not.
// Otherwise the caller sees to what is returned: want, or the end that an earlier void has decided. After an
// error, which is a retry event, nothing is known.
//
// An end comes without its void if there is no place to take, or if the stream has refused the void and
// holds nothing of the epoch: one that takes no message, being full, is not to keep a job from its end. A
// publish that is under way may then still be stored, if there is room by the time it arrives; its worker
// does what nobody wants, and its result meets a job that is over.
func (e *Engine) void(ctx context.Context, rec *store.Record, want job.Void) (decided job.Void, worker string, err error) {
	if !e.voids(rec) {
		return want, "", nil
	}
	if err := e.stillHeld(ctx, phase.VoidPublish); err != nil {
		return job.Void{}, "", err
	}
	want.JobID, want.Topic, want.Epoch = rec.JobID, rec.Topic, rec.Epoch
	to := rec.Worker
	if e.publishesAhead(rec) {
		want.Epoch, to = e.nextEpoch(rec), bus.Nobody
	}
	body, err := json.Marshal(want)
	if err != nil {
		return job.Void{}, "", err
	}
	err = bus.Publish(phase.With(ctx, rec.JobID, phase.VoidPublish), e.js, bus.Message{
		Subject: bus.EpochSubject(to, rec.JobID, want.Epoch), JobID: rec.JobID, Epoch: want.Epoch, Void: true, Once: true, Body: body,
	}, e.settings.PublishTimeout)
	if err == nil {
		e.metrics.IntentsVoided.WithLabelValues(rec.Topic).Inc()
		e.logJob(ctx, slog.LevelInfo, "dispatch voided", rec.JobID, rec.Topic, slog.Int64("epoch", want.Epoch), slog.String("to", string(want.End)))
		return want, "", nil
	}
	ends := refused(err) && want.End.Terminal()
	if !ends && !errors.Is(err, bus.ErrStored) {
		return job.Void{}, "", e.noticeRetry(ctx, err, phase.VoidPublish)
	}
	held, readErr := e.readEpoch(ctx, rec.JobID, want.Epoch)
	switch {
	case ends && errors.Is(readErr, jetstream.ErrMsgNotFound):
		e.logJob(ctx, slog.LevelWarn, "dispatch cannot be voided", rec.JobID, rec.Topic,
			slog.Int64("epoch", want.Epoch), slog.String("to", string(want.End)), slog.Any("error", err))
		return want, "", nil
	case readErr != nil:
		return job.Void{}, "", e.storeRetry(ctx, errors.Join(err, readErr), phase.PublishRead, "")
	case held.Void == nil && e.publishesAhead(rec):
		return job.Void{}, held.WorkerID, e.intendBelated(ctx, rec, held.WorkerID)
	case held.Void == nil:
		return job.Void{}, held.WorkerID, nil
	case held.Void.End.Terminal():
		return *held.Void, "", nil
	}
	return want, "", nil // a void that ends no job only keeps the place
}

// intendBelated writes DISPATCHED for a job that was published to worker by a handling that got no further.
func (e *Engine) intendBelated(ctx context.Context, rec *store.Record, worker string) error {
	w := rec.Move(job.Dispatched)
	w.Worker = worker
	if err := e.move(ctx, phase.DispatchedWrite, rec, w); err != nil {
		return e.writeRetry(ctx, err, phase.DispatchedWrite, "")
	}
	e.registry.Give(worker)
	return nil
}

// refused says whether the stream has said that it does not take a message. One that does not answer, as
// between two leaders, has stored nothing either, and may take the next.
func refused(err error) bool {
	return bus.Refused(err) && !errors.Is(err, jetstream.ErrNoStreamResponse)
}
