package worker

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/routing"
)

// queue is what a worker pulls dispatches from.
type queue struct {
	durable  string   // the name of its consumer of the stream of dispatches
	subjects []string // what it holds
}

// queues are the worker's own, or one for each of its topics, which it shares with the others of its pool: each topic has a
// consumer of its own, since they need not have the same topics.
func (w *Worker) queues() (list []queue) {
	for _, topic := range w.Topics {
		list = append(list, queue{ConsumerName("pool-" + w.Pool + "-" + tokens.Replace(topic)), []string{topic}})
	}
	if list != nil {
		return list
	}
	direct := routing.DirectSubject(w.ID)
	own := queue{ConsumerName(w.ID), []string{direct, direct + ".>"}}
	if w.ReadBack == 0 {
		own.subjects = append(own.subjects, bus.CancelSubject(w.ID))
	}
	return []queue{own}
}

// tokens writes a topic, which has dots, as one token. No two topics become the same one.
var tokens = strings.NewReplacer("~", "~0", ".", "~1")

// ConsumerName is the name of a worker's durable consumer of the stream of dispatches.
func ConsumerName(id string) string { return "jobs-" + id }

// takeJobs pulls dispatches until stop, or until ctx ends.
func (w *Worker) takeJobs(ctx context.Context, stop <-chan struct{}) {
	list := w.queues()
	var others sync.WaitGroup
	for _, q := range list[1:] {
		others.Go(func() { w.takeFrom(ctx, stop, q) })
	}
	w.takeFrom(ctx, stop, list[0])
	others.Wait()
}

func (w *Worker) takeFrom(ctx context.Context, stop <-chan struct{}, q queue) {
	var consumer jetstream.Consumer
	pulled := w.outage("pull failed; trying again", "pulls succeed again")
	for ctx.Err() == nil && !stopped(stop) {
		if consumer == nil {
			if consumer = w.open(ctx, stop, q); consumer == nil {
				return
			}
		}
		err := w.pull(ctx, stop, consumer, q)
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

// open makes a queue's durable consumer, or finds it. Nil is that the worker is to end.
func (w *Worker) open(ctx context.Context, stop <-chan struct{}, q queue) jetstream.Consumer {
	opened := w.outage("no jobs; trying again", "jobs can be pulled again")
	for ctx.Err() == nil && !stopped(stop) {
		consumer, err := w.consumer(ctx, q)
		if opened.Says(noStream(err), slog.String("stream", bus.StreamJobs)); err == nil {
			return consumer
		}
		w.Clock.Sleep(retryAfter)
	}
	return nil
}

// consumer makes or updates a durable consumer. From where it began cannot be changed.
func (w *Worker) consumer(ctx context.Context, q queue) (jetstream.Consumer, error) {
	cfg := jetstream.ConsumerConfig{
		Durable: q.durable, FilterSubjects: q.subjects, AckPolicy: jetstream.AckExplicitPolicy, AckWait: w.AckWait,
		MaxAckPending: -1, // MaxParallel bounds that; the server's default is 1000
	}
	if w.DispatchAge > 0 {
		cfg.InactiveThreshold = max(idleMax, w.DispatchAge)
		switch had, err := w.JetStream.Consumer(ctx, bus.StreamJobs, q.durable); {
		case err == nil:
			cfg.DeliverPolicy, cfg.OptStartTime = had.CachedInfo().Config.DeliverPolicy, had.CachedInfo().Config.OptStartTime
		case errors.Is(err, jetstream.ErrConsumerNotFound):
			since := w.Clock.Now().Add(-w.DispatchAge)
			cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, &since
		default:
			return nil, err
		}
	}
	return w.JetStream.CreateOrUpdateConsumer(ctx, bus.StreamJobs, cfg)
}

// pull asks for as many dispatches as there are free slots, or else for one, which waits for a slot. It executes them as
// they come.
func (w *Worker) pull(ctx context.Context, stop <-chan struct{}, consumer jetstream.Consumer, q queue) error {
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
			case w.answered(msg, q):
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
func (w *Worker) answered(msg jetstream.Msg, q queue) bool {
	switch {
	case !bus.Covered(msg.Subject(), q.subjects): // a lost message's sequence went to another worker's: see bus.Consumer
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
