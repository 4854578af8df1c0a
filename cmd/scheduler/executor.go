package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/wavetank-sim/wavetank/cmd/scheduler/internal/servers"
	"github.com/wavetank-sim/wavetank/engine/bus"
	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/routing"
)

const (
	workerAckWait   = 30 * time.Second // a job of a worker that died is delivered again after this
	workerFetchWait = 5 * time.Second
	workerRetry     = time.Second      // after a call that failed
	workerLastWords = 10 * time.Second // a worker that stops tries to report its results for so long
	workerFarewell  = time.Second      // between one farewell and the next
	cancelsSince    = 24 * time.Hour   // how far back a worker that starts reads what was cancelled
	cancelsMax      = 10_000           // how many of them it remembers
)

// executor is a worker: it executes what is dispatched to it. It knows the scheduler's packets, and nothing else of it.
type executor struct {
	id        string
	pool      string
	work      time.Duration
	failRate  float64
	failCode  string // the reason code of those
	heartbeat time.Duration
	labels    map[string]string
	able      []string
	ledger    *ledger
	outputs   *outputKeeper

	nats   *nats.Conn
	js     jetstream.JetStream
	log    *slog.Logger
	broken func(error) // ends the worker: it cannot keep its ledger

	slots    chan struct{} // one for each job in execution
	executed atomic.Int64
	hurry    chan struct{} // holds one if a heartbeat is due before its time

	mu        sync.Mutex
	begun     map[uint64]underway // dispatches in execution, by their sequence: a delivery again is no second execution
	cancelled map[string]int64    // jobs that are cancelled, and up to which epoch
	told      []string            // the same jobs, in the order of the notices
}

// underway is a dispatch in execution.
type underway struct {
	job   string
	epoch int64
	stop  func()
}

// run takes jobs until ctx ends, and returns once those that it began are done, and it has said farewell
// repeatedly: a scheduler that is about to start may miss it once, and would go by a snapshot that knows nothing
// of it.
func (w *executor) run(ctx context.Context) {
	beats, stopBeats := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { w.beat(beats, ctx) })
	heard := make(chan struct{})
	background.Go(func() { w.hearCancels(ctx, heard) })
	select {
	case <-heard:
		w.takeJobs(ctx)
	case <-ctx.Done():
	}
	farewell := time.After(2 * w.beatEvery(ctx))
	for range cap(w.slots) { // all slots at once: no job is left in execution
		w.slots <- struct{}{}
	}
	if w.nats.IsConnected() {
		<-farewell
	}
	stopBeats()
	background.Wait()
}

// beatEvery is the time between heartbeats: less after the end of ctx.
func (w *executor) beatEvery(ctx context.Context) time.Duration {
	if ctx.Err() != nil {
		return min(w.heartbeat, workerFarewell)
	}
	return w.heartbeat
}

// beat says that the worker lives and how busy it is, until alive ends, and then once more. From the end of
// ctx on it says that it is full, so that no more comes.
func (w *executor) beat(alive, ctx context.Context) {
	sent := servers.Outage{Log: w.log, Fails: "heartbeat not sent; trying again", Over: "heartbeats are sent again"}
	stopping := ctx.Done()
	for last := false; ; last = alive.Err() != nil {
		h := job.Heartbeat{WorkerID: w.id, Pool: w.pool, ActiveJobs: w.active(), MaxParallelJobs: cap(w.slots), Labels: w.labels, Capabilities: w.able}
		if ctx.Err() != nil {
			h.ActiveJobs = h.MaxParallelJobs
		}
		data, err := json.Marshal(h)
		if err == nil {
			err = w.nats.Publish(bus.SubjectHeartbeat, data)
		}
		sent.Says(err)
		if last {
			return
		}
		next := w.beatEvery(ctx)
		if err != nil {
			next = min(next, workerRetry)
		}
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-w.hurry:
		case <-stopping:
			stopping = nil // once
		case <-alive.Done():
		}
		timer.Stop()
	}
}

// beatNow asks for a heartbeat before its time: somebody new may listen.
func (w *executor) beatNow() {
	select {
	case w.hurry <- struct{}{}:
	default: // one is due already
	}
}

func (w *executor) active() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.begun)
}

// takeJobs pulls dispatches for as long as there are free slots.
func (w *executor) takeJobs(ctx context.Context) {
	var consumer jetstream.Consumer
	opened := servers.Outage{Log: w.log, Fails: "no jobs; trying again", Over: "jobs can be pulled again"}
	pulled := servers.Outage{Log: w.log, Fails: "pull failed; trying again", Over: "pulls succeed again"}
	for ctx.Err() == nil {
		if consumer == nil {
			if consumer = w.open(ctx, &opened); consumer == nil {
				continue
			}
		}
		select {
		case w.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		err := w.pull(ctx, consumer, 1+cap(w.slots)-len(w.slots))
		if ctx.Err() != nil {
			return
		}
		if pulled.Says(err); err != nil {
			consumer = nil // it may be gone
			pause(ctx, workerRetry)
		}
	}
}

// open makes the worker's durable consumer, or finds it. Nil is not yet.
func (w *executor) open(ctx context.Context, opened *servers.Outage) jetstream.Consumer {
	subject := routing.DirectSubject(w.id)
	consumer, err := w.js.CreateOrUpdateConsumer(ctx, bus.StreamJobs, jetstream.ConsumerConfig{
		Durable: consumerOf(w.id), FilterSubjects: []string{subject, subject + ".>"},
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: workerAckWait,
	})
	if ctx.Err() != nil {
		return nil
	}
	if opened.Says(noStream(err), slog.String("stream", bus.StreamJobs)); err != nil {
		pause(ctx, workerRetry)
		return nil
	}
	return consumer
}

// consumerOf is the name of a worker's durable consumer.
func consumerOf(id string) string { return "jobs-" + id }

// left is how many dispatches the worker's consumer holds for whoever takes the worker's name next.
func (w *executor) left() (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), servers.DrainWithin)
	defer cancel()
	consumer, err := w.js.Consumer(ctx, bus.StreamJobs, consumerOf(w.id))
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		return 0, nil // it has never had one
	case err != nil:
		return 0, err
	}
	info := consumer.CachedInfo()
	return int(info.NumPending) + info.NumAckPending, nil
}

// noStream says what a missing stream means.
func noStream(err error) error {
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return errors.New("there is no such stream; a scheduler makes it, and none has run here yet")
	}
	return err
}

// pull asks for as many dispatches as there are free slots, and executes them as they come. The caller
// has taken the first slot. It ends with ctx, and the pull at the server with it.
func (w *executor) pull(ctx context.Context, consumer jetstream.Consumer, free int) error {
	wait, cancel := context.WithTimeout(ctx, workerFetchWait)
	defer cancel()
	batch, err := consumer.Fetch(free, jetstream.FetchContext(wait))
	if err != nil {
		<-w.slots
		return err
	}
	for msg := range batch.Messages() {
		go func() {
			defer func() { <-w.slots }()
			w.take(ctx, msg)
		}()
		w.slots <- struct{}{} // for the next; all are taken only once the pull has what it asked for
	}
	<-w.slots
	if err := batch.Error(); err != nil && wait.Err() == nil {
		return err
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
