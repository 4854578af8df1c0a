package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
)

// hearCancels stops jobs that are cancelled, and remembers those that are yet to come. A worker that
// starts remembers nothing itself: it first reads again, from some way back, what it was told before,
// and then closes heard.
func (w *executor) hearCancels(ctx context.Context, heard chan<- struct{}) {
	since := time.Now().Add(-cancelsSince)
	missed := false
	var once sync.Once
	caughtUp := func() { once.Do(func() { close(heard) }) }
	found := servers.Outage{Log: w.log, Fails: "no jobs yet; trying again", Over: "jobs may come now"}
	for ; ctx.Err() == nil; pause(ctx, workerRetry) {
		consumer, err := w.js.OrderedConsumer(ctx, bus.StreamJobs, jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{bus.CancelSubject(w.id)}, DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &since,
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
			w.beatNow()
			time.AfterFunc(workerRetry, w.beatNow) // it makes the stream first, and then listens
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
			w.cancel(msg)
			if md, err := msg.Metadata(); err == nil && md.NumPending == 0 {
				caughtUp()
			}
		}
		stop()
		msgs.Stop()
	}
}

func (w *executor) cancel(msg jetstream.Msg) {
	var c job.Cancel
	if err := json.Unmarshal(msg.Data(), &c); err != nil || c.Validate() != nil {
		w.log.Warn("cancel notice ignored: it cannot be read")
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	epoch, told := w.cancelled[c.JobID]
	if told && epoch >= c.Epoch {
		return
	}
	w.cancelled[c.JobID] = c.Epoch
	if !told {
		w.told = append(w.told, c.JobID)
	}
	if len(w.told) > cancelsMax {
		delete(w.cancelled, w.told[0])
		w.told = w.told[1:]
	}
	for _, u := range w.begun {
		if u.job == c.JobID && u.epoch <= c.Epoch {
			w.log.Info("cancelled", slog.String("job_id", u.job), slog.Int64("epoch", u.epoch))
			u.stop()
		}
	}
}
