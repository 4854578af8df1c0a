package worker

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
)

// hearCancels hears cancel notices through a consumer of its own, so that a worker whose slots are all taken hears them,
// too. A worker that starts remembers nothing itself: it first reads again what it was told before, and then closes
// heard.
func (w *Worker) hearCancels(ctx context.Context, heard chan<- struct{}) {
	since := w.Clock.Now().Add(-w.ReadBack)
	missed := false
	var once sync.Once
	caughtUp := func() { once.Do(func() { close(heard) }) }
	found := w.outage("no jobs yet; trying again", "jobs may come now")
	for ; ctx.Err() == nil; w.pause(ctx, retryAfter) {
		consumer, err := w.JetStream.OrderedConsumer(ctx, bus.StreamJobs, jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{bus.CancelSubject(w.ID)}, DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &since,
		})
		var msgs jetstream.MessagesContext
		if err == nil {
			msgs, err = consumer.Messages()
		}
		if ctx.Err() == nil {
			found.Says(noStream(err), slog.String("stream", bus.StreamJobs))
		}
		if err != nil {
			missed = true
			continue
		}
		if missed { // a scheduler that came after this worker has heard nothing of it
			missed = false
			w.BeatNow()
			w.Clock.AfterFunc(retryAfter, w.BeatNow) // it makes the stream first, and then listens
		}
		if consumer.CachedInfo().NumPending == 0 {
			caughtUp()
		}
		stop := context.AfterFunc(ctx, msgs.Stop)
		for {
			msg, err := msgs.Next()
			if err != nil {
				break // ctx has ended, or the connection is lost
			}
			w.cancel(msg.Data())
			if md, err := msg.Metadata(); err == nil && md.NumPending == 0 {
				caughtUp()
			}
		}
		stop()
		msgs.Stop()
	}
}

// pause waits for d, or until ctx ends.
func (w *Worker) pause(ctx context.Context, d time.Duration) {
	timer := w.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.Chan():
	case <-ctx.Done():
	}
}

// cancel takes in a notice, and ends what it is about. It says whether the notice can be read.
func (w *Worker) cancel(notice []byte) bool {
	var c job.Cancel
	if err := json.Unmarshal(notice, &c); err != nil || c.Validate() != nil {
		w.Logger.Warn("cancel notice ignored: it cannot be read")
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	epoch, told := w.cancelled[c.JobID]
	if told && epoch >= c.Epoch {
		return true
	}
	w.cancelled[c.JobID] = c.Epoch
	if !told {
		w.told = append(w.told, c.JobID)
	}
	if len(w.told) > cancelledMax {
		delete(w.cancelled, w.told[0])
		w.told = w.told[1:]
	}
	for _, u := range w.begun {
		if u.job == c.JobID && u.epoch <= c.Epoch {
			w.Logger.Info("cancelled", slog.String("job_id", u.job), slog.Int64("epoch", u.epoch))
			u.stop()
		}
	}
	return true
}
