package worker

import (
	"context"
	"errors"
	"log/slog"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/routing"
)

// takeJobs pulls dispatches until stop, or until ctx ends.
func (w *Worker) takeJobs(ctx context.Context, stop <-chan struct{}) {
	var consumer jetstream.Consumer
	pulled := w.outage("pull failed; trying again", "pulls succeed again")
	for ctx.Err() == nil && !stopped(stop) {
		if consumer == nil {
			if consumer = w.open(ctx, stop); consumer == nil {
				return
			}
		}
		err := w.pull(ctx, stop, consumer)
		if pulled.Says(err); err != nil && ctx.Err() == nil && !stopped(stop) {
			if lost(err) != nil {
				consumer = nil
			}
			w.Clock.Sleep(retryAfter)
		}
	}
}

// lost is the error of a pull that is over, if the consumer may be gone: one that was deleted, or a stream. Of all
// else, such as a connection that is lost, the next pull says more.
func lost(err error) error {
	for _, is := range []error{nats.ErrNoResponders, jetstream.ErrConsumerDeleted, jetstream.ErrConsumerNotFound, jetstream.ErrStreamNotFound} {
		if errors.Is(err, is) {
			return err
		}
	}
	return nil
}

// open makes the worker's durable consumer, or finds it. Nil is that the worker is to end.
func (w *Worker) open(ctx context.Context, stop <-chan struct{}) jetstream.Consumer {
	durable := ConsumerName(w.ID)
	if len(w.Topics) > 0 {
		durable = ConsumerName("pool-" + w.Pool) // whose workers share it
	}
	opened := w.outage("no jobs; trying again", "jobs can be pulled again")
	for ctx.Err() == nil && !stopped(stop) {
		consumer, err := w.JetStream.CreateOrUpdateConsumer(ctx, bus.StreamJobs, jetstream.ConsumerConfig{
			Durable: durable, FilterSubjects: w.subjects(), AckPolicy: jetstream.AckExplicitPolicy, AckWait: w.AckWait,
		})
		if opened.Says(noStream(err), slog.String("stream", bus.StreamJobs)); err == nil {
			return consumer
		}
		w.Clock.Sleep(retryAfter)
	}
	return nil
}

// subjects are those whose messages the worker pulls.
func (w *Worker) subjects() []string {
	if len(w.Topics) > 0 {
		return w.Topics
	}
	direct := routing.DirectSubject(w.ID)
	subjects := []string{direct, direct + ".>"}
	if w.ReadBack == 0 {
		subjects = append(subjects, bus.CancelSubject(w.ID))
	}
	return subjects
}

// ConsumerName is the name of a worker's durable consumer of the stream of dispatches.
func ConsumerName(id string) string { return "jobs-" + id }

// pull asks for as many dispatches as there are free slots, or else for one, which waits for a slot. It executes them as
// they come.
func (w *Worker) pull(ctx context.Context, stop <-chan struct{}, consumer jetstream.Consumer) error {
	batch, err := consumer.Fetch(max(1, cap(w.slots)-len(w.slots)), jetstream.FetchMaxWait(w.FetchWait))
	if err != nil {
		return err
	}
	for {
		select {
		case msg, more := <-batch.Messages():
			switch {
			case !more:
				return lost(batch.Error())
			case w.answered(msg):
			case w.slot(ctx, stop, msg):
				go func() {
					defer func() { <-w.slots }()
					w.take(ctx, stop, msg)
				}()
			}
		case <-stop:
			go handBack(batch)
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// answered deals with what is no dispatch of the worker, and takes no slot: a cancel notice, a message that stands in a
// dispatch's place, or one of another consumer.
func (w *Worker) answered(msg jetstream.Msg) bool {
	switch {
	case !bus.Covered(msg.Subject(), w.subjects()): // a lost message's sequence went to another worker's: see bus.Consumer
		go func() { w.tell("ack", msg.Ack()) }()
	case msg.Subject() == bus.CancelSubject(w.ID):
		go func() {
			if w.cancel(msg.Data()) {
				w.tell("ack", msg.Ack())
			} else {
				w.tell("term", msg.Term())
			}
		}()
	case msg.Headers().Get(job.HeaderVoid) != "":
		go func() { w.tell("ack", msg.Ack()) }()
	default:
		return false
	}
	return true
}

// slot waits until a slot is free for a dispatch, and keeps it from being delivered again meanwhile.
func (w *Worker) slot(ctx context.Context, stop <-chan struct{}, msg jetstream.Msg) bool {
	select {
	case w.slots <- struct{}{}:
		return true
	default:
	}
	timer := w.Clock.NewTimer(w.AckWait / progressPerAck)
	defer timer.Stop()
	for {
		select {
		case w.slots <- struct{}{}:
			return true
		case <-timer.Chan():
			w.tell("in progress", msg.InProgress())
			timer.Reset(w.AckWait / progressPerAck)
		case <-stop:
			w.tell("nak", msg.Nak())
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// handBack returns what a pull still brings to the worker's queue: to whoever takes the worker's name next.
func handBack(batch jetstream.MessageBatch) {
	for msg := range batch.Messages() {
		_ = msg.Nak()
	}
}
